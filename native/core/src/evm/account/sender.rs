//! How the sender of a transaction is handled, and its next nonce.

use alloy_primitives::{Address, U256};

use super::rejection::{NOT_AN_ACCOUNT, Rejection, Step};
use super::system_contracts::{
    ACCOUNT_VERSION, CONTRACT_DEPLOYER, NONCE_HOLDER, account_slot, is_enabled, is_system,
    min_nonce,
};
use super::zk_tx::{Mode, Sender};
use crate::evm::env::ExecutionEnv;
use crate::evm::error::ExecutionError;
use crate::state::{ProviderError, State};

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
    if (is_system(sender) && !is_impersonated) || (zk.has_paymaster() && is_system(zk.paymaster)) {
        return Err(Rejection::new(Step::Form, "a system contract neither sends nor pays").into());
    }
    if !has_code || is_impersonated {
        return Ok(Some(Sender::Key));
    }
    let version = state.slot(CONTRACT_DEPLOYER, account_slot(sender));
    match version.map_err(ExecutionError::Provider)?.byte(0) {
        ACCOUNT_VERSION => Ok(Some(Sender::Contract)),
        _ => Err(Rejection::new(Step::Sender, NOT_AN_ACCOUNT).into()),
    }
}

/// Return whether there is code other than a delegation.
pub fn has_code(state: &dyn State, address: Address) -> Result<bool, ProviderError> {
    let Some(account) = state.account(address)? else { return Ok(false) };
    if account.code_hash == alloy_primitives::KECCAK256_EMPTY {
        return Ok(false);
    }
    let code = state.code(account.code_hash)?;
    Ok(!code.is_empty() && !code.is_eip7702())
}

/// Return whether an address is a contract account, whose nonce is in the nonce holder.
pub fn is_contract_account(state: &dyn State, address: Address) -> Result<bool, ProviderError> {
    Ok(has_code(state, address)?
        && is_enabled(state)?
        && state.slot(CONTRACT_DEPLOYER, account_slot(address))?.byte(0) == ACCOUNT_VERSION)
}

/// Return the nonce of the next transaction of an account of any kind.
pub fn transaction_count(state: &dyn State, address: Address) -> Result<U256, ProviderError> {
    if is_contract_account(state, address)? {
        return Ok(min_nonce(state.slot(NONCE_HOLDER, account_slot(address))?));
    }
    Ok(U256::from(state.account(address)?.unwrap_or_default().nonce))
}
