//! Fixtures for the tests of this crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, TxKind, U256, keccak256};
use parking_lot::Mutex;
use revm::context::{BlockEnv, TxEnv as RevmTxEnv};
use revm::primitives::hardfork::SpecId;

use crate::evm::env::{Checks, ExecutionEnv, Rules, TxEnv};
use crate::evm::limits::Limits;
use crate::state::snapshot::Snapshot;
use crate::state::{Account, ProviderError, StateProvider};

pub const ALICE: Address = Address::repeat_byte(0xa1);
pub const BOB: Address = Address::repeat_byte(0xb0);
pub const CONTRACT: Address = Address::repeat_byte(0xc0);

/// What a read of a slot does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    Ok,
    Error,
    Panic,
}

/// A state provider in memory that counts its reads.
pub struct World {
    pub accounts: HashMap<Address, Account>,
    pub codes: HashMap<B256, Bytes>,
    pub slots: HashMap<(Address, U256), U256>,
    pub mode: Mutex<ReadMode>,
    pub reads: AtomicUsize,
}

impl World {
    /// Alice has an ether, and there is a contract with this code.
    pub fn with_contract(code: &[u8]) -> Self {
        let hash = keccak256(code);
        let alice = Account { balance: U256::from(10).pow(U256::from(18)), ..Account::default() };
        let contract = Account { nonce: 1, balance: U256::ZERO, code_hash: hash };
        Self {
            accounts: [(ALICE, alice), (CONTRACT, contract)].into_iter().collect(),
            codes: [(hash, Bytes::copy_from_slice(code))].into_iter().collect(),
            slots: HashMap::default(),
            mode: Mutex::new(ReadMode::Ok),
            reads: AtomicUsize::new(0),
        }
    }

    /// Put a contract with this code.
    pub fn put_code(&mut self, address: Address, code: &[u8]) {
        let hash = keccak256(code);
        self.accounts.insert(address, Account { nonce: 1, balance: U256::ZERO, code_hash: hash });
        self.codes.insert(hash, Bytes::copy_from_slice(code));
    }

    pub fn snapshot(self) -> (Arc<Self>, Arc<Snapshot>) {
        let world = Arc::new(self);
        let provider: Arc<dyn StateProvider> = world.clone();
        (world, Arc::new(Snapshot::new(provider, 1_000)))
    }

    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

impl StateProvider for World {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.accounts.get(&address).copied())
    }

    fn code(&self, hash: B256) -> Result<Bytes, ProviderError> {
        assert_ne!(hash, KECCAK256_EMPTY, "empty code is not read");
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.codes[&hash].clone())
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match *self.mode.lock() {
            ReadMode::Ok => Ok(self.slots.get(&(address, slot)).copied().unwrap_or_default()),
            ReadMode::Error => Err(ProviderError(Arc::new(std::io::Error::other("disk on fire")))),
            ReadMode::Panic => panic!("the provider panics"),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(B256::with_last_byte(number as u8))
    }
}

/// A transaction from Alice to the contract.
pub fn transaction(nonce: u64) -> ExecutionEnv {
    let base = RevmTxEnv {
        caller: ALICE,
        kind: TxKind::Call(CONTRACT),
        gas_limit: 1_000_000,
        nonce,
        chain_id: Some(270),
        ..RevmTxEnv::default()
    };
    ExecutionEnv {
        rules: Rules::new(270, SpecId::OSAKA),
        block: BlockEnv { gas_limit: 30_000_000, ..BlockEnv::default() },
        block_hashes: HashMap::default(),
        precompiles: HashMap::default(),
        tx: TxEnv { base, ..TxEnv::default() },
        checks: Checks::ALL,
        limits: Limits::default(),
    }
}
