//! The precompiled contracts, which are the one thing that can compute for long in a single step.

use alloy_primitives::Address;
use revm::context_interface::ContextTr;
use revm::handler::{EthPrecompiles, PrecompileProvider};
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::primitives::AddressSet;
use revm::primitives::hardfork::SpecId;

use crate::watch::Watched;

/// Ethereum's precompiles, announced before they run.
#[derive(Clone, Debug)]
pub struct Precompiles(EthPrecompiles);

impl Precompiles {
    /// Return the precompiles of `fork`.
    pub fn new(fork: SpecId) -> Self {
        Self(EthPrecompiles::new(fork))
    }
}

impl<C: Watched> PrecompileProvider<C> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: <C::Cfg as revm::context_interface::Cfg>::Spec) -> bool {
        PrecompileProvider::<C>::set_spec(&mut self.0, spec)
    }

    fn run(
        &mut self,
        context: &mut C,
        inputs: &CallInputs,
    ) -> Result<Option<Self::Output>, String> {
        if PrecompileProvider::<C>::contains(&self.0, &inputs.bytecode_address) {
            context.chain().announce_precompile();
        }
        self.0.run(context, inputs)
    }

    fn warm_addresses(&self) -> &AddressSet {
        PrecompileProvider::<C>::warm_addresses(&self.0)
    }

    fn contains(&self, address: &Address) -> bool {
        PrecompileProvider::<C>::contains(&self.0, address)
    }
}
