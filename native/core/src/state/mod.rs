//! State: accounts, code and storage, read through snapshots and changed in overlays.

pub mod changes;
pub mod database;
pub mod overlay;
pub mod remote;
pub mod snapshot;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;
use revm::database_interface::DBErrorMarker;
use revm::state::AccountInfo;

/// An account; its code is looked up by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Transactions sent, or contracts created.
    pub nonce: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Keccak-256 of the code.
    pub code_hash: B256,
}

impl Account {
    /// Whether the account is empty, and so absent from the state (EIP-161).
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == KECCAK256_EMPTY
    }
}

impl Default for Account {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, code_hash: KECCAK256_EMPTY }
    }
}

impl From<&AccountInfo> for Account {
    fn from(info: &AccountInfo) -> Self {
        Self { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash }
    }
}

impl From<Account> for AccountInfo {
    fn from(account: Account) -> Self {
        Self {
            nonce: account.nonce,
            balance: account.balance,
            code_hash: account.code_hash,
            code: None,
            ..Default::default()
        }
    }
}

/// The state after one block, stored outside the crate.
///
/// It must be immutable: snapshots cache what they read from it.
pub trait StateProvider: Send + Sync {
    /// Return the account at `address`, if there is one.
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError>;
    /// Return the code whose Keccak-256 is `hash`.
    fn code(&self, hash: B256) -> Result<Bytes, ProviderError>;
    /// Return the value of one storage slot, zero if it was never written.
    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError>;
    /// Return the hash of an earlier block.
    fn block_hash(&self, number: u64) -> Result<B256, ProviderError>;
    /// Whether a part of the state is that of a remote chain, and may not be known.
    fn is_remote(&self) -> bool {
        false
    }
}

/// A provider's own error.
#[derive(Clone, Debug)]
pub struct ProviderError(pub Arc<dyn Error + Send + Sync>);

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ProviderError {}
impl DBErrorMarker for ProviderError {}

/// A state to execute on: a snapshot or an overlay.
pub trait State: Send + Sync {
    /// Return the account at `address`, if there is one.
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError>;
    /// Return the code whose Keccak-256 is `hash`, analysed for execution.
    fn code(&self, hash: B256) -> Result<Bytecode, ProviderError>;
    /// Return the value of one storage slot.
    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError>;
    /// Return the hash of an earlier block.
    fn block_hash(&self, number: u64) -> Result<B256, ProviderError>;
}
