//! The steps of a transaction: validate, pay, execute, post-transaction, refund.
//!
//! Each step is a top frame on the same journal, and gets all gas that is left. So the steps share warm
//! accounts and slots, transient storage, and what was created in the transaction. A rejection drops the
//! journal; the frames themselves undo what a failed execution or post-transaction has done.

use std::sync::LazyLock;

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::context_interface::context::take_error;
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::context_interface::result::{
    EVMError, ExecutionResult as RevmResult, HaltReason, InvalidTransaction, Output, ResultGas,
};
use revm::context_interface::{
    Cfg, ContextTr, Database as _, JournalTr, LocalContextTr, Transaction as _,
};
use revm::handler::EvmTr;
use revm::handler::pre_execution::{load_accounts, validate_account_nonce_and_code};
use revm::handler::validation::{validate_env, validate_initial_tx_gas_with_gas_params};
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{
    CallInput, CallInputs, CallScheme, CallValue, FrameInput, InitialAndFloorGas,
    InstructionResult, SharedMemory, SuccessOrHalt,
};

use super::calls::{
    Arguments, FromArguments, executeTransactionCall, first_word, magic, payForTransactionCall,
    prepareForPaymasterCall, validateAndPayForPaymasterTransactionCall, validateTransactionCall,
};
use super::rejection::{NO_GAS, NOT_AN_ACCOUNT, Rejection, Step, is_out_of_gas};
use super::rules::too_much_gas;
use super::{BOOTLOADER, CONTRACT_DEPLOYER, Mode, NONCE_HOLDER, Sender, ZkTx};
use super::{account_slot, default_account, min_nonce};
use crate::evm::env::ExecutionEnv;
use crate::evm::{EngineEvm, FrameRunner};
use crate::state::ProviderError;

/// The transient slot of 0x8001 that lets it receive ether.
const RECEIVES_SLOT: U256 = U256::ZERO;
/// The longest context of a paymaster.
const MAX_CONTEXT: usize = 1_024;
const WORD: usize = 32;

static NO_FIELDS: LazyLock<ZkTx> = LazyLock::new(ZkTx::default);

/// Why the steps have no result.
#[derive(Debug)]
pub enum StepError {
    /// The transaction cannot be included.
    Rejected(Rejection),
    /// The engine failed, or the transaction is invalid for a reason of every type.
    Evm(EVMError<ProviderError>),
}

impl From<Rejection> for StepError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<InvalidTransaction> for StepError {
    fn from(invalid: InvalidTransaction) -> Self {
        Self::Evm(EVMError::Transaction(invalid))
    }
}

impl From<ProviderError> for StepError {
    fn from(error: ProviderError) -> Self {
        Self::Evm(EVMError::Database(error))
    }
}

impl From<EVMError<ProviderError>> for StepError {
    fn from(error: EVMError<ProviderError>) -> Self {
        Self::Evm(error)
    }
}

/// A call that the node makes.
pub struct StepCall {
    caller: Address,
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

    /// Return a call without value that may change nothing.
    pub fn new_static(caller: Address, target: Address, data: Bytes) -> Self {
        Self { is_static: true, ..Self::new(caller, target, data) }
    }
}

/// How a call has ended.
struct Ended {
    result: InstructionResult,
    output: Bytes,
}

/// A transaction that runs in steps.
pub struct Steps<'s, 'a, I, F> {
    evm: &'s mut EngineEvm<'a, I>,
    env: &'s ExecutionEnv,
    /// The fields of type 0x71.
    pub zk: &'s ZkTx,
    /// Who sends the transaction.
    pub sender: Address,
    kind: Sender,
    frames: F,
    arguments: Arguments,
    intrinsic: InitialAndFloorGas,
    gas_left: u64,
    refund: i64,
    /// What is left of the gas that a pool allows the sender, and the paymaster.
    allowance: Option<[u64; 2]>,
}

/// Run a transaction in steps on the journal of `evm`.
pub fn run<'a, I, F: FrameRunner<'a, I>>(
    evm: &mut EngineEvm<'a, I>,
    env: &ExecutionEnv,
    kind: Sender,
    frames: F,
) -> Result<RevmResult, StepError> {
    let zk = env.tx.zk.as_deref().unwrap_or(&NO_FIELDS);
    validate_env::<_, EVMError<ProviderError>>(evm.ctx())?;
    let intrinsic = intrinsic_gas(evm, env, zk, kind)?;
    load_accounts::<_, EVMError<ProviderError>>(evm)?;
    let mut steps = Steps {
        arguments: Arguments::new(env, zk),
        sender: env.tx.base.caller,
        gas_left: env.tx.base.gas_limit - intrinsic.initial_total_gas(),
        refund: 0,
        allowance: (zk.mode == Mode::Validation).then_some([zk.validation_gas; 2]),
        evm,
        env,
        zk,
        kind,
        frames,
        intrinsic,
    };
    steps.warm()?;
    steps.run()
}

/// Return the intrinsic gas over everything that is charged like calldata.
fn intrinsic_gas<I>(
    evm: &EngineEvm<'_, I>,
    env: &ExecutionEnv,
    zk: &ZkTx,
    kind: Sender,
) -> Result<InitialAndFloorGas, StepError> {
    let (cfg, mut tx) = (&evm.ctx.cfg, env.tx.base.clone());
    tx.data = zk.charged_data(&tx.data, kind);
    Ok(validate_initial_tx_gas_with_gas_params(
        &tx,
        env.rules.fork,
        cfg.gas_params(),
        cfg.is_eip7623_disabled(),
        cfg.is_amsterdam_eip8037_enabled(),
        cfg.tx_gas_limit_cap(),
        None,
    )?)
}

impl<'a, I, F: FrameRunner<'a, I>> Steps<'_, 'a, I, F> {
    fn run(mut self) -> Result<RevmResult, StepError> {
        let fee = self.fee();
        if self.zk.mode == Mode::Estimate {
            self.credit(fee)?;
        }
        // One level above the frames of the steps, for tracers.
        self.journal().checkpoint();
        self.validate()?;
        let context = self.pay(fee)?;
        if self.gas_left == 0 {
            return Err(Rejection::new(Step::Validation, NO_GAS).into());
        }
        if self.zk.mode == Mode::Validation {
            let gas = self.spent_gas();
            let ended = Ended { result: InstructionResult::Stop, output: Bytes::new() };
            return Ok(self.finish(ended, gas));
        }
        let executed = self.execute()?;
        if self.zk.has_paymaster() && self.gas_left > 0 {
            self.post(context, executed.result.is_ok())?;
        }
        let gas = self.settle()?;
        self.journal().checkpoint_commit();
        Ok(self.finish(executed, gas))
    }

    /// Step 1: the account agrees, and its nonce is used.
    fn validate(&mut self) -> Result<(), StepError> {
        match self.kind {
            Sender::Key => self.validate_key(),
            Sender::Contract => self.validate_contract(),
        }
    }

    fn validate_key(&mut self) -> Result<(), StepError> {
        let (checks, tx) = (&self.env.checks, &self.env.tx.base);
        let address = self.sender;
        let mut sender = self.evm.ctx.journal_mut().load_account_with_code_mut(address)?.data;
        let info = &sender.account().info;
        validate_account_nonce_and_code(info, tx.nonce, true, !checks.nonce)?;
        if checks.balance && info.balance < tx.value {
            let (fee, balance) = (Box::new(tx.value), Box::new(info.balance));
            return Err(InvalidTransaction::LackOfFundForMaxFee { fee, balance }.into());
        }
        sender.bump_nonce();
        Ok(())
    }

    fn validate_contract(&mut self) -> Result<(), StepError> {
        let nonce = U256::from(self.env.tx.base.nonce);
        let state = self.min_nonce()?;
        if nonce < state {
            let (tx, state) = (self.env.tx.base.nonce, state.saturating_to());
            return Err(InvalidTransaction::NonceTooLow { tx, state }.into());
        }
        let output = self.account_call::<validateTransactionCall>(Step::Validation)?;
        let magic = magic::<validateTransactionCall>();
        let agrees = self.zk.mode == Mode::Estimate || first_word(&output) == Some(magic);
        if output.len() != WORD || !agrees {
            let reason = "Account validation returned invalid magic value. \
                          Most often this means that the signature is incorrect";
            return Err(Rejection::new(Step::Validation, reason).into());
        }
        let version = self.slot(CONTRACT_DEPLOYER)?;
        if version.byte(0) != 1 {
            return Err(Rejection::new(Step::Sender, NOT_AN_ACCOUNT).into());
        }
        if self.min_nonce()? <= nonce {
            let reason = "The nonce was not marked as used during validation";
            return Err(Rejection::new(Step::Validation, reason).into());
        }
        Ok(())
    }

    /// Steps 2 and 3: the fee arrives, and what is more goes back; return the paymaster's context.
    fn pay(&mut self, fee: U256) -> Result<Bytes, StepError> {
        if self.kind == Sender::Key && !self.zk.has_paymaster() {
            return Err(Rejection::new(Step::Form, "nothing to pay for in steps").into());
        }
        let before = self.balance(BOOTLOADER)?;
        self.journal().tstore(BOOTLOADER, RECEIVES_SLOT, U256::ONE);
        let mut context = Bytes::new();
        if self.zk.has_paymaster() {
            match self.kind {
                Sender::Key => default_account::prepare(self)?,
                Sender::Contract => {
                    self.account_call::<prepareForPaymasterCall>(Step::Preparation)?;
                }
            }
            context = self.ask_paymaster()?;
        } else {
            self.account_call::<payForTransactionCall>(Step::Payment)?;
        }
        self.journal().tstore(BOOTLOADER, RECEIVES_SLOT, U256::ZERO);
        let paid = self.balance(BOOTLOADER)?.saturating_sub(before);
        if paid < fee {
            return Err(Rejection::new(Step::Charge, "the fee was not paid").into());
        }
        self.journal().load_account_mut(BOOTLOADER)?.data.set_balance(before);
        self.credit(paid - fee)?;
        Ok(context)
    }

    fn ask_paymaster(&mut self) -> Result<Bytes, StepError> {
        let data = self.arguments.encode::<validateAndPayForPaymasterTransactionCall>();
        let call = StepCall::new(BOOTLOADER, self.zk.paymaster, data);
        let output = self.required_call(Step::Paymaster, call)?;
        let magic = magic::<validateAndPayForPaymasterTransactionCall>();
        let context = read_context(&output)
            .map_err(|reason| StepError::from(Rejection::new(Step::Paymaster, reason)))?;
        if self.zk.mode != Mode::Estimate && first_word(&output) != Some(magic) {
            let reason = "Paymaster validation returned invalid magic value. Please refer to the \
                          documentation of the paymaster for more details";
            return Err(Rejection::new(Step::Validation, reason).into());
        }
        Ok(context)
    }

    /// Step 4: what the transaction is for.
    fn execute(&mut self) -> Result<Ended, StepError> {
        let call = match self.kind {
            Sender::Key => {
                let tx = &self.env.tx.base;
                let target = tx.kind.to().copied().unwrap_or_default();
                let call = StepCall::new(self.sender, target, tx.data.clone());
                StepCall { value: tx.value, ..call }
            }
            Sender::Contract => {
                let data = self.arguments.encode::<executeTransactionCall>();
                StepCall::new(BOOTLOADER, self.sender, data)
            }
        };
        let origin = call.caller;
        self.call(origin, call)
    }

    /// Step 5: the paymaster learns how it went; nobody minds if it fails.
    fn post(&mut self, context: Bytes, is_success: bool) -> Result<(), StepError> {
        let data = self.arguments.encode_post(context, is_success, self.gas_left);
        self.call(BOOTLOADER, StepCall::new(BOOTLOADER, self.zk.paymaster, data))?;
        Ok(())
    }

    /// Step 6: refund what was not used, and return the gas of the transaction.
    fn settle(&mut self) -> Result<ResultGas, StepError> {
        let gas = self.spent_gas();
        let unused = U256::from(self.env.tx.base.gas_limit - gas.tx_gas_used());
        self.credit(unused * self.price())?;
        Ok(gas)
    }

    fn spent_gas(&self) -> ResultGas {
        let spent = self.env.tx.base.gas_limit - self.gas_left;
        let quotient = self.evm.ctx.cfg.gas_params().max_refund_quotient();
        let refund = (self.refund.max(0) as u64).min(spent / quotient);
        ResultGas::default()
            .with_total_gas_spent(spent)
            .with_refunded(refund)
            .with_floor_gas(self.intrinsic.floor_gas())
    }

    fn finish(self, executed: Ended, gas: ResultGas) -> RevmResult {
        let journal = self.evm.ctx.journal_mut();
        let logs = journal.take_logs();
        journal.commit_tx();
        let output = executed.output;
        match SuccessOrHalt::<HaltReason>::from(executed.result) {
            SuccessOrHalt::Success(reason) => {
                RevmResult::Success { reason, gas, logs, output: Output::Call(output) }
            }
            SuccessOrHalt::Halt(reason) => RevmResult::Halt { reason, gas, logs },
            _ => RevmResult::Revert { gas, logs, output },
        }
    }

    /// Call the account that sends the transaction.
    fn account_call<C: FromArguments>(&mut self, step: Step) -> Result<Bytes, StepError> {
        let data = self.arguments.encode::<C>();
        self.required_call(step, StepCall::new(BOOTLOADER, self.sender, data))
    }

    /// Make a call without which the transaction cannot be included, and return its output.
    pub fn required_call(&mut self, step: Step, call: StepCall) -> Result<Bytes, StepError> {
        self.frames.start(self.evm, step);
        let before = self.gas_left;
        let allowed = self.allowance.map(|left| left[usize::from(step == Step::Paymaster)]);
        let gas = allowed.map_or(before, |allowed| allowed.min(before));
        let ended = self.call_with(BOOTLOADER, call, gas)?;
        if let Some(violation) = self.frames.violation(self.evm) {
            return Err(Rejection::new(Step::Rules, violation).into());
        }
        if let Some(left) = &mut self.allowance {
            let spent = before - self.gas_left;
            let left = &mut left[usize::from(step == Step::Paymaster)];
            *left = left.saturating_sub(spent);
        }
        if ended.result.is_ok() {
            return Ok(ended.output);
        }
        if gas < before && is_out_of_gas(ended.result) {
            return Err(Rejection::new(Step::Rules, too_much_gas(self.zk.validation_gas)).into());
        }
        if is_out_of_gas(ended.result) {
            return Err(Rejection::new(step, NO_GAS).into());
        }
        Err(Rejection::reverted(step, ended.output).into())
    }

    /// Make a call with all gas that is left.
    fn call(&mut self, origin: Address, call: StepCall) -> Result<Ended, StepError> {
        let gas = self.gas_left;
        self.call_with(origin, call, gas)
    }

    /// Make a call with `gas` of what is left, and count what it uses.
    fn call_with(&mut self, origin: Address, call: StepCall, gas: u64) -> Result<Ended, StepError> {
        let spent = self.env.tx.base.gas_limit - self.gas_left;
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
        self.gas_left -= gas;
        if !ended.result.is_halt() {
            self.gas_left += ended.gas.remaining();
        }
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

    /// Warm the accounts that the steps are about.
    fn warm(&mut self) -> Result<(), StepError> {
        let target = self.env.tx.base.kind.to().copied();
        let paymaster = self.zk.has_paymaster().then_some(self.zk.paymaster);
        let accounts = [Some(BOOTLOADER), Some(NONCE_HOLDER), Some(self.sender), target, paymaster];
        for address in accounts.into_iter().flatten() {
            self.journal().load_account(address)?;
        }
        Ok(())
    }

    fn min_nonce(&mut self) -> Result<U256, StepError> {
        Ok(min_nonce(self.slot(NONCE_HOLDER)?))
    }

    /// Read the sender's slot of a system contract, without warming it.
    fn slot(&mut self, contract: Address) -> Result<U256, StepError> {
        let slot = account_slot(self.sender);
        let (database, state) = self.evm.ctx.journal_mut().db_and_state_mut();
        let written = state.get(&contract).and_then(|account| account.storage.get(&slot));
        match written {
            Some(known) => Ok(known.present_value),
            None => Ok(database.storage(contract, slot)?),
        }
    }

    fn balance(&mut self, address: Address) -> Result<U256, StepError> {
        Ok(self.journal().load_account(address)?.info.balance)
    }

    fn credit(&mut self, wei: U256) -> Result<(), StepError> {
        let payer = self.payer();
        if !wei.is_zero() {
            self.journal().balance_incr(payer, wei)?;
        }
        Ok(())
    }

    fn payer(&self) -> Address {
        if self.zk.has_paymaster() { self.zk.paymaster } else { self.sender }
    }

    fn fee(&self) -> U256 {
        U256::from(self.env.tx.base.gas_limit) * self.price()
    }

    fn price(&self) -> U256 {
        U256::from(self.env.tx.base.effective_gas_price(self.env.block.basefee.into()))
    }

    fn journal(&mut self) -> &mut <super::super::Ctx<'a> as ContextTr>::Journal {
        self.evm.ctx.journal_mut()
    }
}

/// Return the context in what a paymaster has returned.
fn read_context(output: &Bytes) -> Result<Bytes, &'static str> {
    const INVALID: &str = "Paymaster returned invalid context";
    let number = |start: usize| -> Option<usize> {
        let word = output.get(start..start.checked_add(WORD)?)?;
        U256::from_be_slice(word).try_into().ok()
    };
    let start = number(WORD).ok_or(INVALID)?;
    let size = number(start).ok_or(INVALID)?;
    if size > MAX_CONTEXT {
        return Err("Paymaster returned context that is too long");
    }
    let start = start + WORD;
    if output.len() - start < size {
        return Err(INVALID);
    }
    Ok(output.slice(start..start + size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(offset: u64, size: u64, content: usize) -> Bytes {
        let mut output = vec![0; WORD];
        output.extend_from_slice(&U256::from(offset).to_be_bytes::<WORD>());
        output.extend_from_slice(&U256::from(size).to_be_bytes::<WORD>());
        output.resize(output.len() + content, 7);
        output.into()
    }

    #[test]
    fn a_context_is_read_from_where_it_is() {
        assert_eq!(read_context(&reply(64, 0, 0)), Ok(Bytes::new()));
        assert_eq!(read_context(&reply(64, 3, 32)), Ok(vec![7; 3].into()));
        assert_eq!(read_context(&reply(64, 1_024, 1_024)), Ok(vec![7; 1_024].into()));
    }

    #[test]
    fn a_context_beyond_the_output_is_none() {
        for output in [reply(64, 1, 0), reply(65, 0, 0), reply(u64::MAX, 0, 0), Bytes::new()] {
            assert_eq!(read_context(&output), Err("Paymaster returned invalid context"));
        }
    }

    #[test]
    fn a_context_has_a_longest_size() {
        let reason = "Paymaster returned context that is too long";
        assert_eq!(read_context(&reply(64, 1_025, 1_056)), Err(reason));
    }
}
