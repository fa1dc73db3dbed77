//! How the sender of a transaction is handled, and its next nonce.

use alloy_primitives::{Address, KECCAK256_EMPTY, U256};

use super::rejection::{Rejection, Step};
use super::system_contracts::{
    CONTRACT_DEPLOYER, NONCE_HOLDER, account_slot, is_enabled, is_system, min_nonce, says_account,
    with_min_nonce,
};
use super::zk_tx::{Mode, Sender};
use crate::evm::env::ExecutionEnv;
use crate::evm::error::ExecutionError;
use crate::state::overlay::Overlay;
use crate::state::{Account, ProviderError, State};

/// A sender's next nonce, its balance, and whether it cannot sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderAccount {
    /// The nonce of its next transaction.
    pub nonce: U256,
    /// Balance in wei.
    pub balance: U256,
    /// Whether it has code other than a delegation; that of a contract account, whether it is none any more.
    pub has_code: bool,
}

/// Return how the sender is handled if the transaction runs in steps; None if it runs like one of type 2.
pub fn sender_of(state: &dyn State, env: &ExecutionEnv) -> Result<Option<Sender>, ExecutionError> {
    let Some(zk) = &env.tx.zk else { return Ok(None) };
    let sender = env.tx.base.caller;
    let has_code = has_code(state, sender).map_err(ExecutionError::Provider)?;
    let is_impersonated = zk.mode == Mode::Impersonation;
    if !zk.has_paymaster() && (!has_code || is_impersonated) {
        return Ok(None);
    }
    if !is_enabled(state).map_err(ExecutionError::Provider)? {
        return Ok(None);
    }
    let paymaster = zk.has_paymaster().then_some(zk.paymaster);
    check_parties((!is_impersonated).then_some(sender), paymaster)?;
    if !has_code || is_impersonated {
        return Ok(Some(Sender::Key));
    }
    match is_account(state, sender).map_err(ExecutionError::Provider)? {
        true => Ok(Some(Sender::Contract)),
        false => Err(Rejection::not_an_account().into()),
    }
}

/// Reject a system contract that sends or pays.
pub fn check_parties(sender: Option<Address>, paymaster: Option<Address>) -> Result<(), Rejection> {
    match sender.into_iter().chain(paymaster).any(is_system) {
        true => Err(Rejection::new(Step::Form, "a system contract neither sends nor pays")),
        false => Ok(()),
    }
}

/// Return whether there is code other than a delegation.
pub fn has_code(state: &dyn State, address: Address) -> Result<bool, ProviderError> {
    state.account(address)?.map_or(Ok(false), |account| is_contract(state, &account))
}

fn is_contract(state: &dyn State, account: &Account) -> Result<bool, ProviderError> {
    if account.code_hash == KECCAK256_EMPTY {
        return Ok(false);
    }
    let code = state.code(account.code_hash)?;
    Ok(!code.is_empty() && !code.is_eip7702())
}

/// Return whether a contract is an account, on a chain that calls them.
fn is_account(state: &dyn State, contract: Address) -> Result<bool, ProviderError> {
    Ok(says_account(state.slot(CONTRACT_DEPLOYER, account_slot(contract))?))
}

/// Return whether a sender is a contract account, whose nonce is in the nonce holder.
pub fn is_contract_account(state: &dyn State, sender: Address) -> Result<bool, ProviderError> {
    Ok(has_code(state, sender)? && is_enabled(state)? && is_account(state, sender)?)
}

/// Return the nonce of the next transaction of an account of any kind.
pub fn transaction_count(state: &dyn State, address: Address) -> Result<U256, ProviderError> {
    if is_contract_account(state, address)? {
        return held_nonce(state, address);
    }
    Ok(U256::from(state.account(address)?.unwrap_or_default().nonce))
}

/// Read a sender, with the nonce of the nonce holder if it sends as a contract account.
pub fn read_sender(
    state: &dyn State,
    sender: Address,
    is_account: bool,
) -> Result<SenderAccount, ProviderError> {
    let Some(account) = state.account(sender)? else { return Ok(SenderAccount::default()) };
    let balance = account.balance;
    if is_account {
        let has_code = !is_contract_account(state, sender)?;
        return Ok(SenderAccount { nonce: held_nonce(state, sender)?, balance, has_code });
    }
    let has_code = is_contract(state, &account)?;
    Ok(SenderAccount { nonce: U256::from(account.nonce), balance, has_code })
}

/// Let `nonce` be the next of a sender of any kind.
pub fn set_next_nonce(
    state: &mut Overlay,
    sender: Address,
    nonce: u64,
) -> Result<(), ProviderError> {
    if !is_contract_account(state, sender)? {
        let account = state.account(sender)?.unwrap_or_default();
        return state.set_account(sender, Some(Account { nonce, ..account }));
    }
    let slot = account_slot(sender);
    let held = state.slot(NONCE_HOLDER, slot)?;
    state.set_slot(NONCE_HOLDER, slot, with_min_nonce(held, nonce))
}

fn held_nonce(state: &dyn State, account: Address) -> Result<U256, ProviderError> {
    Ok(min_nonce(state.slot(NONCE_HOLDER, account_slot(account))?))
}
