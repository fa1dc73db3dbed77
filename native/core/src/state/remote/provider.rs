//! A state of which a part is local, and the rest that of a remote block.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::key::Key;
use super::table::{Missing, RemoteTable};
use super::{mode, rounds};
use crate::state::{Account, ProviderError, StateProvider};

/// The local part of a state. None is: unknown, ask the remote.
pub trait LocalState: Send + Sync {
    /// Return the account at `address`, if there is one.
    fn account(&self, address: Address) -> Result<Option<Option<Account>>, ProviderError>;
    /// Return the code whose Keccak-256 is `hash`.
    fn code(&self, hash: B256) -> Result<Option<Bytes>, ProviderError>;
    /// Return the value of one storage slot.
    fn slot(&self, address: Address, slot: U256) -> Result<Option<U256>, ProviderError>;
    /// Return the hash of an earlier block.
    fn block_hash(&self, number: u64) -> Result<Option<B256>, ProviderError>;
}

/// Local state above that of a remote block.
pub struct RemoteProvider<L> {
    local: L,
    table: Arc<RemoteTable>,
}

impl<L> RemoteProvider<L> {
    /// Put `local` above `table`.
    pub const fn new(local: L, table: Arc<RemoteTable>) -> Self {
        Self { local, table }
    }

    /// Return what `read` finds in the table: at once, or after a wait if the thread waits.
    fn remote<T>(
        &self,
        key: Key,
        read: impl Fn(&RemoteTable) -> Option<T>,
    ) -> Result<T, ProviderError> {
        loop {
            if let Some(value) = read(&self.table) {
                return Ok(value);
            }
            fetch(Missing { table: Arc::clone(&self.table), key })?;
        }
    }
}

/// Wait for a value that was missed, or return the error that says so.
fn fetch(missing: Missing) -> Result<(), ProviderError> {
    if let Some(failure) = rounds::failure(&missing) {
        return Err(failure);
    }
    let Some(patience) = mode::patience() else { return Err(ProviderError(Arc::new(missing))) };
    let failed = missing.table.fetch(&[missing.key], patience);
    failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
}

/// Wait for the value that an error says was missed, if the thread waits; otherwise return the error.
pub fn fetch_missed(error: ProviderError) -> Result<(), ProviderError> {
    match error.0.downcast_ref::<Missing>() {
        Some(missing) if mode::patience().is_some() => fetch(missing.clone()),
        _ => Err(error),
    }
}

impl<L: LocalState> StateProvider for RemoteProvider<L> {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        match self.local.account(address)? {
            Some(account) => Ok(account),
            None => self.remote(Key::Account(address), |table| table.account(address)),
        }
    }

    fn code(&self, hash: B256) -> Result<Bytes, ProviderError> {
        if let Some(code) = self.local.code(hash)? {
            return Ok(code);
        }
        loop {
            match self.table.code(hash) {
                Some(Ok(code)) => return Ok(code),
                Some(Err(key)) => fetch(Missing { table: Arc::clone(&self.table), key })?,
                None => return Err(ProviderError(Arc::new(UnknownCode(hash)))),
            }
        }
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        match self.local.slot(address, slot)? {
            Some(value) => Ok(value),
            None => self.remote(Key::Slot(address, slot), |table| table.slot(address, slot)),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        match self.local.block_hash(number)? {
            Some(hash) => Ok(hash),
            None => self.remote(Key::Hash(number), |table| table.hash(number)),
        }
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// Code that neither side has.
#[derive(Debug, thiserror::Error)]
#[error("neither the fork nor the remote chain has code with hash {0}")]
struct UnknownCode(B256);
