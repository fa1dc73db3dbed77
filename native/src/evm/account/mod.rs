//! Transactions of type 0x71 from contract accounts, or that a paymaster pays for.
//!
//! They run as a sequence of calls from 0x8001 on one journal: see [`steps`]. A transaction of a key
//! account that pays for itself does not come here: it is executed like one of type 2.

pub mod calls;
mod default_account;
mod meter;
pub mod rejection;
pub mod rules;
pub mod steps;

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256};

use super::ExecutionError;
use super::env::ExecutionEnv;
use crate::state::{ProviderError, State};
use crate::typed_data::Transaction;
use rejection::{NOT_AN_ACCOUNT, Rejection, Step};

/// Calls accounts and paymasters, and receives the fee.
pub const BOOTLOADER: Address = address!("0000000000000000000000000000000000008001");
/// Holds the nonces of contract accounts.
pub const NONCE_HOLDER: Address = address!("0000000000000000000000000000000000008003");
/// Records which contracts are accounts.
pub const CONTRACT_DEPLOYER: Address = address!("0000000000000000000000000000000000008006");

/// The variable of 0x8001 that says whether the chain calls accounts: the genesis sets it.
const ACCOUNT_VERSION_SLOT: U256 = U256::ZERO;
const LAST_SYSTEM_ADDRESS: Address = address!("000000000000000000000000000000000000ffff");
const NONCE_MASK: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);

/// The fields of type 0x71 that no type of Ethereum has, and how the transaction is run.
#[derive(Clone, Debug, Default)]
pub struct ZkTx {
    /// Who pays, or zero.
    pub paymaster: Address,
    /// What the paymaster is told.
    pub paymaster_input: Bytes,
    /// The signature, which a contract account judges.
    pub signature: Bytes,
    /// The priority fee as it was signed; it is never charged.
    pub max_priority_fee_per_gas: u128,
    /// The most gas for a byte of pubdata.
    pub gas_per_pubdata_limit: u64,
    /// The hashes of the factory dependencies.
    pub factory_dep_hashes: Vec<B256>,
    /// What the run is for.
    pub mode: Mode,
    /// The most gas of the steps before the execution: for the sender, and again for the paymaster; 0 if none is set.
    pub validation_gas: u64,
    /// The most time of the steps before the execution, if there is a most gas.
    pub validation_time: Duration,
    /// Whether a validation has to keep the rules of a pool.
    pub enforces_rules: bool,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// A transaction of a block.
    #[default]
    Transaction,
    /// An unsigned transaction of an impersonated sender: its account is not called.
    Impersonation,
    /// An estimate: the payer has what it needs, and nobody minds a signature.
    Estimate,
    /// The steps before the execution only.
    Validation,
}

/// How the sender of a transaction is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// By the node itself: an account with a key, or an impersonated one.
    Key,
    /// By calls of the contract.
    Contract,
}

impl ZkTx {
    /// Whether the steps before the execution have a most gas and time.
    pub const fn is_bounded(&self) -> bool {
        self.validation_gas > 0
    }

    /// Whether a paymaster pays: anybody but the zero address, and be it the sender.
    pub fn has_paymaster(&self) -> bool {
        !self.paymaster.is_zero()
    }

    /// Return the bytes that are charged for like calldata.
    pub fn charged_data(&self, data: &Bytes, sender: Sender) -> Bytes {
        let mut charged = data.to_vec();
        if self.has_paymaster() {
            charged.extend_from_slice(&self.paymaster_input);
        }
        if sender == Sender::Contract {
            charged.extend_from_slice(&self.signature);
        }
        charged.into()
    }
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
    let is_system = |address: Address| address <= LAST_SYSTEM_ADDRESS;
    if (is_system(sender) && !is_impersonated) || (zk.has_paymaster() && is_system(zk.paymaster)) {
        return Err(Rejection::new(Step::Form, "a system contract neither sends nor pays").into());
    }
    if !has_code || is_impersonated {
        return Ok(Some(Sender::Key));
    }
    let version = state.slot(CONTRACT_DEPLOYER, account_slot(sender));
    match version.map_err(ExecutionError::Provider)?.byte(0) {
        1 => Ok(Some(Sender::Contract)),
        _ => Err(Rejection::new(Step::Sender, NOT_AN_ACCOUNT).into()),
    }
}

/// Return whether the chain calls accounts and paymasters.
fn is_enabled(state: &dyn State) -> Result<bool, ProviderError> {
    Ok(!state.slot(BOOTLOADER, ACCOUNT_VERSION_SLOT)?.is_zero())
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

/// Return the nonce of the next transaction of an account of any kind.
pub fn transaction_count(state: &dyn State, address: Address) -> Result<U256, ProviderError> {
    if has_code(state, address)? && is_enabled(state)? {
        let slot = account_slot(address);
        if state.slot(CONTRACT_DEPLOYER, slot)?.byte(0) == 1 {
            return Ok(min_nonce(state.slot(NONCE_HOLDER, slot)?));
        }
    }
    Ok(U256::from(state.account(address)?.unwrap_or_default().nonce))
}

/// Return the slot of an account in the first mapping of a contract.
pub fn account_slot(account: Address) -> U256 {
    let mut key = [0; 64];
    key[12..32].copy_from_slice(account.as_slice());
    keccak256(key).into()
}

/// Return the first unused nonce, of the slot that holds it beside the deployment nonce.
fn min_nonce(raw: U256) -> U256 {
    raw & NONCE_MASK
}

/// Return what the sender of the transaction of `env` has signed.
pub fn signed_fields(env: &ExecutionEnv, zk: &ZkTx) -> Transaction {
    let tx = &env.tx.base;
    Transaction {
        txType: U256::from(Transaction::TYPE),
        from: tx.caller.into_word().into(),
        to: tx.kind.to().copied().unwrap_or_default().into_word().into(),
        gasLimit: U256::from(tx.gas_limit),
        gasPerPubdataByteLimit: U256::from(zk.gas_per_pubdata_limit),
        maxFeePerGas: U256::from(tx.gas_price),
        maxPriorityFeePerGas: U256::from(zk.max_priority_fee_per_gas),
        paymaster: zk.paymaster.into_word().into(),
        nonce: U256::from(tx.nonce),
        value: tx.value,
        data: tx.data.clone(),
        factoryDeps: zk.factory_dep_hashes.clone(),
        paymasterInput: zk.paymaster_input.clone(),
    }
}
