//! The calls that the node makes, and the gas that they use.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::context_interface::context::take_error;
use revm::context_interface::result::EVMError;
use revm::context_interface::{Cfg, ContextTr, JournalTr, LocalContextTr};
use revm::handler::EvmTr;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{
    CallInput, CallInputs, CallScheme, CallValue, FrameInput, InstructionResult, SharedMemory,
};

use super::error::StepError;
use super::running::Steps;
use crate::evm::account::calls::FromArguments;
use crate::evm::account::rejection::{NO_GAS, Rejection, Step, is_out_of_gas};
use crate::evm::account::rules::too_much_gas;
use crate::evm::account::system_contracts::BOOTLOADER;
use crate::evm::frames::FrameRunner;
use crate::state::ProviderError;

/// A call that the node makes.
pub struct StepCall {
    pub(super) caller: Address,
    target: Address,
    value: U256,
    data: Bytes,
    is_static: bool,
}

impl StepCall {
    /// Return a call without value.
    pub const fn new(caller: Address, target: Address, data: Bytes) -> Self {
        Self { caller, target, value: U256::ZERO, data, is_static: false }
    }

    /// Return this call with a value.
    pub fn with_value(self, value: U256) -> Self {
        Self { value, ..self }
    }

    /// Return a call without value that may change nothing.
    pub fn new_static(caller: Address, target: Address, data: Bytes) -> Self {
        Self { is_static: true, ..Self::new(caller, target, data) }
    }
}

/// How a call has ended.
pub(super) struct Ended {
    pub(super) result: InstructionResult,
    pub(super) output: Bytes,
}

impl<'a, I, F: FrameRunner<'a, I>> Steps<'_, 'a, I, F> {
    /// Call the account that sends the transaction.
    pub(super) fn account_call<C: FromArguments>(
        &mut self,
        step: Step,
    ) -> Result<Bytes, StepError> {
        let data = self.arguments.encode::<C>();
        self.required_call(step, StepCall::new(BOOTLOADER, self.sender, data))
    }

    /// Make a call without which the transaction cannot be included, and return its output.
    pub fn required_call(&mut self, step: Step, call: StepCall) -> Result<Bytes, StepError> {
        let is_paymasters = step == Step::Paymaster;
        let (before, part) = (self.gas_left, usize::from(is_paymasters));
        if let Some(left) = self.allowance {
            self.frames.start(self.evm, step, left[part]);
        }
        let ended = self.call(BOOTLOADER, call)?;
        let used = self.frames.end(self.evm);
        self.worked += used.gas;
        let mut violation = used.violation;
        if let (Some(left), true) = (&mut self.allowance, ended.result.is_ok()) {
            match left[part].checked_sub(before - self.gas_left) {
                Some(rest) => left[part] = rest,
                None => {
                    violation = violation.or_else(|| Some(too_much_gas(self.zk.validation_gas)))
                }
            }
        }
        if let Some(violation) = violation {
            let rejection = Rejection::new(Step::Rules, violation);
            return Err(if is_paymasters { rejection.of_paymaster() } else { rejection }.into());
        }
        if ended.result.is_ok() {
            return Ok(ended.output);
        }
        if is_out_of_gas(ended.result) {
            return Err(Rejection::new(step, NO_GAS).into());
        }
        Err(Rejection::reverted(step, ended.output).into())
    }

    /// Make a call with all gas that is left, and count what it uses.
    pub(super) fn call(&mut self, origin: Address, call: StepCall) -> Result<Ended, StepError> {
        let gas = self.gas_left;
        let spent = self.env.tx.base.gas_limit - gas;
        let known_bytecode = self.code(call.target)?;
        let ctx = &mut self.evm.ctx;
        ctx.tx.caller = origin;
        ctx.chain.start_step(spent);
        ctx.local.clear();
        let mut memory = SharedMemory::new_with_buffer(ctx.local.shared_memory_buffer().clone());
        memory.set_memory_limit(ctx.cfg.memory_limit());
        let scheme = if call.is_static { CallScheme::StaticCall } else { CallScheme::Call };
        let inputs = CallInputs {
            input: CallInput::Bytes(call.data),
            return_memory_offset: 0..0,
            gas_limit: gas,
            reservoir: 0,
            bytecode_address: call.target,
            known_bytecode,
            target_address: call.target,
            caller: call.caller,
            value: CallValue::Transfer(call.value),
            scheme,
            is_static: call.is_static,
            charged_new_account_state_gas: false,
        };
        let frame_input = FrameInput::Call(Box::new(inputs));
        let ended = self.frames.run(self.evm, FrameInit { depth: 0, memory, frame_input })?;
        take_error::<EVMError<ProviderError>, _>(self.evm.ctx().error())?;
        let ended = ended.into_interpreter_result();
        self.gas_left = if ended.result.is_halt() { 0 } else { ended.gas.remaining() };
        if ended.result.is_ok() {
            self.refund += ended.gas.refunded();
        }
        Ok(Ended { result: ended.result, output: ended.output })
    }

    /// Load the code that runs at `address`, which may be that of a delegate.
    fn code(&mut self, address: Address) -> Result<(B256, revm::bytecode::Bytecode), StepError> {
        let account = self.journal().load_account_with_code(address)?;
        let code = account.info.code.clone().unwrap_or_default();
        let hash = account.info.code_hash;
        let Some(delegate) = code.eip7702_address() else { return Ok((hash, code)) };
        let account = self.journal().load_account_with_code(delegate)?;
        Ok((account.info.code_hash, account.info.code.clone().unwrap_or_default()))
    }

    /// Return whether there is code at `address`.
    pub fn has_code(&mut self, address: Address) -> Result<bool, StepError> {
        let account = self.journal().load_account(address)?;
        Ok(account.info.code_hash != KECCAK256_EMPTY && !account.info.code_hash.is_zero())
    }
}
