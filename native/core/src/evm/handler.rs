//! Ethereum's processing of a transaction, with what priority transactions add to it.

use alloy_primitives::U256;
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::context_interface::result::{EVMError, HaltReason, InvalidTransaction};
use revm::context_interface::{ContextTr, JournalTr, Transaction, TransactionType};
use revm::handler::pre_execution::{
    calculate_caller_fee, validate_account_nonce_and_code_with_components,
};
use revm::handler::validation::validate_env;
use revm::handler::{EthFrame, EvmTr, Handler};
use revm::inspector::InspectorHandler;
use revm::interpreter::InitialAndFloorGas;
use revm::interpreter::interpreter::EthInterpreter;
use revm_inspectors::access_list::AccessListInspector;

use super::account::rules::RulesInspector;
use super::engine::{Ctx, EngineEvm};
use super::env::{Checks, ExecutionEnv};
use super::intrinsic::intrinsic_gas;
use super::trace::TracerInspector;
use super::transfers::TransferLogs;
use crate::state::ProviderError;

/// Ethereum's transaction processing, with the mint and the nonce of priority transactions.
pub(super) struct TxHandler<'e, E> {
    env: &'e ExecutionEnv,
    evm: std::marker::PhantomData<E>,
}

impl<'e, E> TxHandler<'e, E> {
    /// Return the processing of one transaction.
    pub(super) fn new(env: &'e ExecutionEnv) -> Self {
        Self { env, evm: std::marker::PhantomData }
    }
}

/// Return the balance that `value` is sent from. revm checks it only where it charges fees.
fn afford(balance: U256, value: U256, checks: &Checks) -> Result<U256, InvalidTransaction> {
    if !checks.balance {
        return Ok(balance.max(value));
    }
    if balance < value {
        let (fee, balance) = (Box::new(value), Box::new(balance));
        return Err(InvalidTransaction::LackOfFundForMaxFee { fee, balance });
    }
    Ok(balance)
}

impl<'a, I> Handler for TxHandler<'_, EngineEvm<'a, I>>
where
    EngineEvm<'a, I>: EvmTr<Context = Ctx<'a>, Frame = EthFrame<EthInterpreter>>,
{
    type Evm = EngineEvm<'a, I>;
    type Error = EVMError<ProviderError>;
    type HaltReason = HaltReason;

    fn validate_env(&self, evm: &mut Self::Evm) -> Result<(), Self::Error> {
        let tx = &evm.ctx.tx;
        // revm leaves this check to the transaction decoder, which a call does not pass.
        if tx.tx_type() == TransactionType::Eip7702 && tx.kind().is_create() {
            let reason = "EIP-7702 transaction cannot be used to create contract";
            return Err(InvalidTransaction::from(reason).into());
        }
        if tx.tx_type() == TransactionType::Eip4844 && tx.kind().is_create() {
            return Err(InvalidTransaction::BlobCreateTransaction.into());
        }
        validate_env(evm.ctx())
    }

    fn validate_initial_tx_gas(
        &self,
        evm: &mut Self::Evm,
    ) -> Result<InitialAndFloorGas, Self::Error> {
        intrinsic_gas(evm, self.env, &evm.ctx.tx)
    }

    fn validate_against_state_and_deduct_caller(
        &self,
        evm: &mut Self::Evm,
        _: &mut InitialAndFloorGas,
    ) -> Result<(), Self::Error> {
        let (block, tx, cfg, journal, _, _) = evm.ctx().all_mut();
        let mut sender = journal.load_account_with_code_mut(tx.caller())?.data;
        validate_account_nonce_and_code_with_components(&sender.account().info, tx, cfg)?;
        let minted = sender
            .balance()
            .checked_add(self.env.tx.mint)
            .ok_or(InvalidTransaction::OverflowPaymentInTransaction)?;
        let charged = calculate_caller_fee(minted, tx, block, cfg)?;
        sender.set_balance(afford(charged, tx.value(), &self.env.checks)?);
        if tx.kind().is_call() && !self.env.tx.keeps_nonce {
            sender.bump_nonce();
        }
        Ok(())
    }
}

impl<'a> InspectorHandler for TxHandler<'_, EngineEvm<'a, TracerInspector>> {
    type IT = EthInterpreter;
}

impl<'a> InspectorHandler for TxHandler<'_, EngineEvm<'a, RulesInspector>> {
    type IT = EthInterpreter;
}

impl<'a> InspectorHandler for TxHandler<'_, EngineEvm<'a, AccessListInspector>> {
    type IT = EthInterpreter;
}

impl<'a> InspectorHandler for TxHandler<'_, EngineEvm<'a, TransferLogs>> {
    type IT = EthInterpreter;
}
