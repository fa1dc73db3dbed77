//! Precompiles, which can take long in a single step and can be moved by state overrides.

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, Bytes};
use revm::context_interface::{ContextTr, JournalTr, LocalContextTr};
use revm::handler::{EthPrecompiles, PrecompileProvider, precompile_output_to_interpreter_result};
use revm::interpreter::{CallInputs, InterpreterResult};
use revm::precompile::{PrecompileOutput, PrecompileStatus};
use revm::primitives::AddressSet;
use revm::primitives::hardfork::SpecId;

use super::console;
use super::limits::{LimitReached, LimitedContext};
use super::work::precompile_factor;
use crate::bytecode;

/// Precompiles that state overrides moved: for an address the original address of the precompile
/// that runs there, or `None` if none does.
pub type MovedPrecompiles = HashMap<Address, Option<Address>>;

/// Return the addresses of the precompiles of `fork`.
pub fn addresses(fork: SpecId) -> AddressSet {
    EthPrecompiles::new(fork).warm_addresses().clone()
}

/// Ethereum's precompiles, some of them possibly moved.
#[derive(Clone, Debug)]
pub struct Precompiles {
    inner: EthPrecompiles,
    moved: MovedPrecompiles,
    rejects_foreign_code: bool,
}

impl Precompiles {
    /// Return the precompiles of `fork`, except for those in `moved`.
    pub fn new(fork: SpecId, moved: MovedPrecompiles, rejects_foreign_code: bool) -> Self {
        Self { inner: EthPrecompiles::new(fork), moved, rejects_foreign_code }
    }

    /// Return the original address of the precompile that runs at `address`.
    fn origin(&self, address: &Address) -> Option<Address> {
        let origin = match self.moved.get(address) {
            None => *address,
            Some(origin) => (*origin)?,
        };
        self.inner.contains(&origin).then_some(origin)
    }

    /// Run the precompile at `origin` with the gas of a call, or with what the limits leave of it.
    fn run_priced<C: LimitedContext>(
        &self,
        context: &mut C,
        inputs: &CallInputs,
        origin: &Address,
    ) -> Result<PrecompileOutput, String> {
        let depth = context.journal().depth().saturating_sub(1);
        let left =
            context.chain_mut().before_precompile(depth).map_err(|limit| stop(context, limit))?;
        let factor = precompile_factor(origin, self.inner.spec);
        let budget = left.map_or(u64::MAX, |left| left / factor);
        let most = context.chain().precompile_gas.unwrap_or(u64::MAX);
        let gas = inputs.gas_limit.min(budget).min(most);
        let Some(precompile) = self.inner.precompiles.get(origin) else {
            return Err(String::from("no precompile"));
        };
        // Each compares its price with its gas before it begins.
        let output = precompile
            .execute(&inputs.input.as_bytes(context), gas, inputs.reservoir)
            .map_err(|error| error.to_string())?;
        let spent = match &output.status {
            PrecompileStatus::Halt(reason) if !reason.is_oog() => gas,
            PrecompileStatus::Halt(_) if gas == inputs.gas_limit => 0,
            PrecompileStatus::Halt(_) if gas == budget => {
                return Err(stop(context, LimitReached::Gas));
            }
            PrecompileStatus::Halt(_) => {
                context.chain_mut().is_precompile_stopped = true;
                0
            }
            _ => output.gas_used,
        };
        context.chain_mut().add_surcharge(spent.saturating_mul(factor - 1));
        Ok(output)
    }
}

/// Record the limit that was reached, and return the error that stops the execution.
fn stop<C: LimitedContext>(context: &mut C, limit: LimitReached) -> String {
    context.chain_mut().reached = Some(limit);
    String::from("limit reached")
}

/// Record a call, if it is one of `console.log`.
fn record_console_call<C: LimitedContext>(context: &mut C, inputs: &CallInputs) {
    if inputs.bytecode_address != console::ADDRESS
        || !context.chain_mut().console.admit(inputs.input.len())
    {
        return;
    }
    let data = Bytes::copy_from_slice(&inputs.input.as_bytes(context));
    context.chain_mut().console.recorded.push(data);
}

impl<C: LimitedContext> PrecompileProvider<C> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: <C::Cfg as revm::context_interface::Cfg>::Spec) -> bool {
        PrecompileProvider::<C>::set_spec(&mut self.inner, spec)
    }

    fn run(
        &mut self,
        context: &mut C,
        inputs: &CallInputs,
    ) -> Result<Option<Self::Output>, String> {
        let Some(origin) = self.origin(&inputs.bytecode_address) else {
            // Every call passes here before its code runs.
            if self.rejects_foreign_code
                && bytecode::is_era(inputs.known_bytecode.1.original_byte_slice())
            {
                let foreign = LimitReached::ForeignCode(inputs.bytecode_address);
                return Err(stop(context, foreign));
            }
            record_console_call(context, inputs);
            return Ok(None);
        };
        let output = self.run_priced(context, inputs, &origin)?;
        // As `EthPrecompiles` does, for the output of a call of a precompile itself.
        if let Some(reason) = output.halt_reason()
            && !reason.is_oog()
            && context.journal().depth() == 1
        {
            context.local_mut().set_precompile_error_context(reason.to_string());
        }
        Ok(Some(precompile_output_to_interpreter_result(output, inputs.gas_limit)))
    }

    // As in geth, a transaction warms the original addresses.
    fn warm_addresses(&self) -> &AddressSet {
        PrecompileProvider::<C>::warm_addresses(&self.inner)
    }

    fn contains(&self, address: &Address) -> bool {
        self.origin(address).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evm::{ExecutionError, ExecutionResult, execute};
    use crate::testing::{CONTRACT, World, transaction};
    use alloy_primitives::{TxKind, address};
    use revm::bytecode::opcode::{CALL, GAS, INVALID, PUSH0, PUSH20, STOP};

    const IDENTITY: Address = address!("0000000000000000000000000000000000000004");
    const ELSEWHERE: Address = address!("00000000000000000000000000000000000e15e0");

    fn send(to: Address, moved: &[(Address, Option<Address>)]) -> ExecutionResult {
        let (_, snapshot) = World::with_contract(&[INVALID]).snapshot();
        let mut env = transaction(0);
        env.tx.base.kind = TxKind::Call(to);
        env.tx.base.data = b"hello".as_slice().into();
        env.precompiles = moved.iter().copied().collect();
        execute(snapshot.as_ref(), &env, None).unwrap()
    }

    fn output(to: Address, moved: &[(Address, Option<Address>)]) -> Vec<u8> {
        send(to, moved).result.output().unwrap().to_vec()
    }

    #[test]
    fn a_moved_precompile_runs_only_at_its_new_address() {
        let moved = [(IDENTITY, None), (ELSEWHERE, Some(IDENTITY))];
        assert_eq!(output(IDENTITY, &[]), b"hello");
        assert_eq!(output(ELSEWHERE, &[]), b"");
        assert_eq!(output(IDENTITY, &moved), b"");
        assert_eq!(output(ELSEWHERE, &moved), b"hello");
    }

    #[test]
    fn a_moved_precompile_replaces_the_code_at_its_new_address() {
        assert!(send(CONTRACT, &[]).result.is_halt());
        assert_eq!(output(CONTRACT, &[(CONTRACT, Some(IDENTITY))]), b"hello");
    }

    /// Calls `FOREIGN`, whatever comes of it, and stops.
    const CALLER: &[u8] = &[
        PUSH0, PUSH0, PUSH0, PUSH0, PUSH0, PUSH20, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
        0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, GAS, CALL, STOP,
    ];
    const FOREIGN: Address = Address::repeat_byte(0xee);

    fn call_foreign(rejects_foreign_code: bool) -> Result<ExecutionResult, ExecutionError> {
        let mut world = World::with_contract(CALLER);
        world.put_code(FOREIGN, &[0; 96]);
        let (_, snapshot) = world.snapshot();
        let mut env = transaction(0);
        env.rules.rejects_foreign_code = rejects_foreign_code;
        execute(snapshot.as_ref(), &env, None)
    }

    #[test]
    fn a_nested_call_of_foreign_code_ends_the_execution() {
        assert!(call_foreign(false).unwrap().result.is_success());
        let error = call_foreign(true).unwrap_err();
        let ExecutionError::LimitReached(reached) = error else { panic!("{error}") };
        assert_eq!(reached, LimitReached::ForeignCode(FOREIGN));
    }

    #[test]
    fn a_contract_cannot_be_moved_like_a_precompile() {
        assert_eq!(output(ELSEWHERE, &[(ELSEWHERE, Some(CONTRACT))]), b"");
    }
}
