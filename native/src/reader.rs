//! The state as revm asks for it.

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::database_interface::{Database, DatabaseRef};
use revm::state::AccountInfo;

use crate::state::{SourceError, State};

/// Shows a [`State`] to the EVM.
pub struct Reader<'a> {
    /// Who answers.
    pub state: &'a dyn State,
    /// Hashes of earlier blocks that count instead of those the state knows.
    pub block_hashes: &'a HashMap<u64, B256>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader")
    }
}

impl DatabaseRef for Reader<'_> {
    type Error = SourceError;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        Ok(self.state.account(address)?.map(AccountInfo::from))
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, SourceError> {
        self.state.code(hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.state.slot(address, slot)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, SourceError> {
        match self.block_hashes.get(&number) {
            Some(hash) => Ok(*hash),
            None => self.state.block_hash(number),
        }
    }
}

impl Database for Reader<'_> {
    type Error = SourceError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, SourceError> {
        self.basic_ref(address)
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, SourceError> {
        self.code_by_hash_ref(hash)
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.storage_ref(address, slot)
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, SourceError> {
        self.block_hash_ref(number)
    }
}
