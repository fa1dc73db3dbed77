//! What an execution needs to know of the state, and who can tell it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;
use revm::database_interface::DBErrorMarker;
use revm::state::AccountInfo;

/// An account as the state keeps it; its code is found by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// Number of transactions sent, or of contracts created.
    pub nonce: u64,
    /// Balance in wei.
    pub balance: U256,
    /// Keccak-256 of the code.
    pub code_hash: B256,
}

impl Account {
    /// Whether the account counts as absent from the state (EIP-161).
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

/// The state after one block, as somebody outside the crate stores it.
///
/// Answers must not change: a snapshot keeps them.
pub trait Source: Send + Sync {
    /// Return the account at `address`, or nothing if there is none.
    fn account(&self, address: Address) -> Result<Option<Account>, SourceError>;
    /// Return the code whose Keccak-256 is `hash`.
    fn code(&self, hash: B256) -> Result<Bytes, SourceError>;
    /// Return the value of one storage slot, zero if it was never written.
    fn slot(&self, address: Address, slot: U256) -> Result<U256, SourceError>;
    /// Return the hash of an earlier block.
    fn block_hash(&self, number: u64) -> Result<B256, SourceError>;
}

/// Why a source could not answer.
#[derive(Clone, Debug)]
pub struct SourceError(pub Arc<dyn Error + Send + Sync>);

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SourceError {}
impl DBErrorMarker for SourceError {}

/// A state that executions run against: a snapshot, or an overlay on one.
pub trait State: Send + Sync {
    /// Return the account at `address`, or nothing if there is none.
    fn account(&self, address: Address) -> Result<Option<Account>, SourceError>;
    /// Return the code whose Keccak-256 is `hash`, analysed for execution.
    fn code(&self, hash: B256) -> Result<Bytecode, SourceError>;
    /// Return the value of one storage slot.
    fn slot(&self, address: Address, slot: U256) -> Result<U256, SourceError>;
    /// Return the hash of an earlier block.
    fn block_hash(&self, number: u64) -> Result<B256, SourceError>;
}
