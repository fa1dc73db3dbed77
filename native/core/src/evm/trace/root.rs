//! The root frame of a transaction that runs in steps: tracers expect one, and the steps are its children.

use alloy_primitives::{Address, Bytes, U256};
use revm::Inspector;
use revm::context_interface::ContextTr;
use revm::context_interface::result::ExecutionResult;
use revm::inspector::JournalExt;
use revm::interpreter::{
    CallInput, CallInputs, CallOutcome, CallScheme, CallValue, Gas, InstructionResult,
    InterpreterResult,
};

use super::inspector::TracerInspector;
use crate::evm::account::system_contracts::BOOTLOADER;
use crate::evm::env::ExecutionEnv;
use crate::evm::limits::LimitedContext;

/// Open the root: a call of 0x8001 from nobody, with the data of the transaction.
pub fn open_root<C>(
    inspector: &mut TracerInspector,
    context: &mut C,
    env: &ExecutionEnv,
) -> CallInputs
where
    C: LimitedContext + ContextTr<Journal: JournalExt>,
{
    let mut inputs = CallInputs {
        input: CallInput::Bytes(env.tx.base.data.clone()),
        return_memory_offset: 0..0,
        gas_limit: env.tx.base.gas_limit,
        reservoir: 0,
        bytecode_address: BOOTLOADER,
        known_bytecode: Default::default(),
        target_address: BOOTLOADER,
        caller: Address::ZERO,
        value: CallValue::Transfer(U256::ZERO),
        scheme: CallScheme::Call,
        is_static: false,
        charged_new_account_state_gas: false,
    };
    inspector.call(context, &mut inputs);
    inputs
}

/// Close the root with the result of the transaction.
pub fn close_root<C>(
    inspector: &mut TracerInspector,
    context: &mut C,
    inputs: &CallInputs,
    result: &ExecutionResult,
) where
    C: LimitedContext + ContextTr<Journal: JournalExt>,
{
    let (ended, output) = match result {
        ExecutionResult::Success { reason, output, .. } => {
            (InstructionResult::from(*reason), output.data().clone())
        }
        ExecutionResult::Revert { output, .. } => (InstructionResult::Revert, output.clone()),
        ExecutionResult::Halt { reason, .. } => {
            (InstructionResult::from(reason.clone()), Bytes::new())
        }
    };
    let mut gas = Gas::new(inputs.gas_limit);
    // It cannot fail: nobody spends more than the limit.
    let _ = gas.record_regular_cost(result.tx_gas_used());
    let result = InterpreterResult { result: ended, output, gas };
    let mut outcome = CallOutcome::new(result, 0..0);
    inspector.call_end(context, inputs, &mut outcome);
}
