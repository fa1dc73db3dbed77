//! The steps of a transaction: validate, pay, execute, post-transaction, refund.
//!
//! Each step is a top frame on the same journal, and gets all gas that is left. So the steps share warm
//! accounts and slots, transient storage, and what was created in the transaction. A rejection drops the
//! journal; the frames themselves undo what a failed execution or post-transaction has done.

mod call;
mod context;
mod default_account;
mod error;
mod ledger;
mod running;

use std::sync::LazyLock;

use alloy_primitives::{Bytes, U256};
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::context_interface::result::{
    EVMError, ExecutionResult as RevmResult, HaltReason, InvalidTransaction, Output, ResultGas,
};
use revm::context_interface::{Cfg, ContextTr, JournalTr};
use revm::handler::EvmTr;
use revm::handler::pre_execution::{load_accounts, validate_account_nonce_and_code};
use revm::handler::validation::validate_env;
use revm::interpreter::{InstructionResult, SuccessOrHalt};

use super::calls::{
    Arguments, executeTransactionCall, first_word, magic, payForTransactionCall,
    prepareForPaymasterCall, validateAndPayForPaymasterTransactionCall, validateTransactionCall,
};
use super::rejection::{NO_GAS, Rejection, Step};
use super::system_contracts::{BOOTLOADER, CONTRACT_DEPLOYER, says_account};
use super::zk_tx::{Mode, Sender, ZkTx};
use crate::evm::engine::EngineEvm;
use crate::evm::env::ExecutionEnv;
use crate::evm::frames::FrameRunner;
use crate::evm::intrinsic::intrinsic_gas;
use crate::state::ProviderError;
use call::{Ended, StepCall};
use context::read_context;
pub use error::StepError;
use running::Steps;

/// The transient slot of 0x8001 that lets it receive ether.
const RECEIVES_SLOT: U256 = U256::ZERO;
const WORD: usize = 32;

static NO_FIELDS: LazyLock<ZkTx> = LazyLock::new(ZkTx::default);

/// Run a transaction in steps on the journal of `evm`.
pub fn run<'a, I, F: FrameRunner<'a, I>>(
    evm: &mut EngineEvm<'a, I>,
    env: &ExecutionEnv,
    kind: Sender,
    frames: F,
) -> Result<RevmResult, StepError> {
    let zk = env.tx.zk.as_deref().unwrap_or(&NO_FIELDS);
    validate_env::<_, EVMError<ProviderError>>(evm.ctx())?;
    let mut charged = env.tx.base.clone();
    charged.data = zk.charged_data(&charged.data, kind);
    let intrinsic = intrinsic_gas(evm, env, &charged)?;
    load_accounts::<_, EVMError<ProviderError>>(evm)?;
    let mut steps = Steps {
        arguments: Arguments::new(env, zk),
        sender: env.tx.base.caller,
        gas_left: env.tx.base.gas_limit - intrinsic.initial_total_gas(),
        refund: 0,
        allowance: zk.is_bounded().then_some([zk.validation_gas; 2]),
        worked: 0,
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

impl<'a, I, F: FrameRunner<'a, I>> Steps<'_, 'a, I, F> {
    fn run(mut self) -> Result<RevmResult, StepError> {
        match self.run_steps() {
            Ok((executed, gas)) => Ok(self.finish(executed, gas)),
            Err(StepError::Rejected(rejection)) => {
                Err(Rejection { gas: self.worked, ..rejection }.into())
            }
            Err(error) => Err(error),
        }
    }

    fn run_steps(&mut self) -> Result<(Ended, ResultGas), StepError> {
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
            return Ok((ended, gas));
        }
        let executed = self.execute()?;
        if self.zk.has_paymaster() && self.gas_left > 0 {
            self.post(context, executed.result.is_ok())?;
        }
        let gas = self.settle()?;
        self.journal().checkpoint_commit();
        Ok((executed, gas))
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
        if !says_account(self.slot(CONTRACT_DEPLOYER)?) {
            return Err(Rejection::not_an_account().into());
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
            let rejection = Rejection::new(Step::Charge, "the fee was not paid");
            let is_paymasters = self.zk.has_paymaster();
            return Err(if is_paymasters { rejection.of_paymaster() } else { rejection }.into());
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
            // The network has this text among those of accounts.
            return Err(Rejection::new(Step::Validation, reason).of_paymaster().into());
        }
        Ok(context)
    }

    /// Step 4: what the transaction is for.
    fn execute(&mut self) -> Result<Ended, StepError> {
        let call = match self.kind {
            Sender::Key => {
                let tx = &self.env.tx.base;
                let target = tx.kind.to().copied().unwrap_or_default();
                StepCall::new(self.sender, target, tx.data.clone()).with_value(tx.value)
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
}
