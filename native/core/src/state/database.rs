//! revm's `Database` over a [`State`].

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::database_interface::{Database, DatabaseRef};
use revm::state::AccountInfo;

use super::{ProviderError, State};

/// A [`State`] as the EVM reads it.
pub struct StateDatabase<'a> {
    /// The state.
    pub state: &'a dyn State,
    /// Block hashes that take precedence over those of the state.
    pub block_hashes: &'a HashMap<u64, B256>,
}

impl std::fmt::Debug for StateDatabase<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StateDatabase")
    }
}

impl DatabaseRef for StateDatabase<'_> {
    type Error = ProviderError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, ProviderError> {
        Ok(self.state.account(address)?.map(AccountInfo::from))
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, ProviderError> {
        self.state.code(hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        self.state.slot(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, ProviderError> {
        match self.block_hashes.get(&number) {
            Some(hash) => Ok(*hash),
            None => self.state.block_hash(number),
        }
    }
}

impl Database for StateDatabase<'_> {
    type Error = ProviderError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ProviderError> {
        self.basic_ref(address)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ProviderError> {
        self.code_by_hash_ref(hash)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        self.storage_ref(address, slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ProviderError> {
        self.block_hash_ref(number)
    }
}
