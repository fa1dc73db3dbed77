//! The precompiled contracts, which are the one thing that can compute for long in a single step.

use alloy_primitives::Address;
use alloy_primitives::map::HashMap;
use revm::context_interface::ContextTr;
use revm::handler::{EthPrecompiles, PrecompileProvider};
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::primitives::AddressSet;
use revm::primitives::hardfork::SpecId;

use crate::watch::Watched;

/// Where precompiles are, if not where the fork has them: the one that runs at an address, by the
/// address it is from, or none.
pub type Moves = HashMap<Address, Option<Address>>;

/// Return where `fork` has precompiles.
pub fn addresses(fork: SpecId) -> AddressSet {
    EthPrecompiles::new(fork).warm_addresses().clone()
}

/// Ethereum's precompiles, announced before they run.
#[derive(Clone, Debug)]
pub struct Precompiles {
    own: EthPrecompiles,
    moves: Moves,
}

impl Precompiles {
    /// Return the precompiles of `fork`, of which some may be elsewhere.
    pub fn new(fork: SpecId, moves: Moves) -> Self {
        Self { own: EthPrecompiles::new(fork), moves }
    }

    /// Return where the fork has the precompile that runs at `address`.
    fn origin(&self, address: &Address) -> Option<Address> {
        let origin = match self.moves.get(address) {
            None => *address,
            Some(moved) => (*moved)?,
        };
        self.own.contains(&origin).then_some(origin)
    }
}

impl<C: Watched> PrecompileProvider<C> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: <C::Cfg as revm::context_interface::Cfg>::Spec) -> bool {
        PrecompileProvider::<C>::set_spec(&mut self.own, spec)
    }

    fn run(
        &mut self,
        context: &mut C,
        inputs: &CallInputs,
    ) -> Result<Option<Self::Output>, String> {
        let Some(origin) = self.origin(&inputs.bytecode_address) else {
            return Ok(None);
        };
        context.chain().announce_precompile();
        if origin == inputs.bytecode_address {
            return self.own.run(context, inputs);
        }
        let inputs = CallInputs { bytecode_address: origin, ..inputs.clone() };
        self.own.run(context, &inputs)
    }

    // A transaction warms what the fork has, wherever that is now: so does geth.
    fn warm_addresses(&self) -> &AddressSet {
        PrecompileProvider::<C>::warm_addresses(&self.own)
    }

    fn contains(&self, address: &Address) -> bool {
        self.origin(address).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::{Outcome, run};
    use crate::testing::{CONTRACT, World, transaction};
    use alloy_primitives::{TxKind, address};
    use revm::bytecode::opcode::INVALID;

    const IDENTITY: Address = address!("0000000000000000000000000000000000000004");
    const ELSEWHERE: Address = address!("00000000000000000000000000000000000e15e0");

    fn send(to: Address, moves: &[(Address, Option<Address>)]) -> Outcome {
        let (_, snapshot) = World::with_contract(&[INVALID]).snapshot();
        let mut job = transaction(0);
        job.message.env.kind = TxKind::Call(to);
        job.message.env.data = b"hello".as_slice().into();
        job.precompiles = moves.iter().copied().collect();
        run(snapshot.as_ref(), &job, None).unwrap()
    }

    fn output(to: Address, moves: &[(Address, Option<Address>)]) -> Vec<u8> {
        send(to, moves).result.output().unwrap().to_vec()
    }

    #[test]
    fn a_precompile_that_moved_runs_where_it_went_and_not_where_it_was() {
        let moves = [(IDENTITY, None), (ELSEWHERE, Some(IDENTITY))];
        assert_eq!(output(IDENTITY, &[]), b"hello");
        assert_eq!(output(ELSEWHERE, &[]), b"");
        assert_eq!(output(IDENTITY, &moves), b"");
        assert_eq!(output(ELSEWHERE, &moves), b"hello");
    }

    #[test]
    fn a_precompile_runs_in_place_of_the_code_where_it_went() {
        assert!(send(CONTRACT, &[]).result.is_halt());
        assert_eq!(output(CONTRACT, &[(CONTRACT, Some(IDENTITY))]), b"hello");
    }

    #[test]
    fn what_is_no_precompile_runs_nowhere() {
        assert_eq!(output(ELSEWHERE, &[(ELSEWHERE, Some(CONTRACT))]), b"");
    }
}
