//! A small state and small programs for the tests of this crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, TxKind, U256, keccak256};
use parking_lot::Mutex;
use revm::context::{BlockEnv, TxEnv};
use revm::primitives::hardfork::SpecId;

use crate::job::{Checks, Job, Message, Rules};
use crate::snapshot::Snapshot;
use crate::state::{Account, Source, SourceError};
use crate::watch::Limits;

pub const ALICE: Address = Address::repeat_byte(0xa1);
pub const BOB: Address = Address::repeat_byte(0xb0);
pub const CONTRACT: Address = Address::repeat_byte(0xc0);

/// What the source does when it is asked for a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Helpful,
    Failing,
    Panicking,
}

/// A state in memory that counts the questions it gets.
pub struct World {
    pub accounts: HashMap<Address, Account>,
    pub codes: HashMap<B256, Bytes>,
    pub slots: HashMap<(Address, U256), U256>,
    pub mood: Mutex<Mood>,
    pub questions: AtomicUsize,
}

impl World {
    /// Alice is rich, and there is a contract with this code.
    pub fn with_contract(code: &[u8]) -> Self {
        let hash = keccak256(code);
        let alice = Account { balance: U256::from(10).pow(U256::from(18)), ..Account::default() };
        let contract = Account { nonce: 1, balance: U256::ZERO, code_hash: hash };
        Self {
            accounts: [(ALICE, alice), (CONTRACT, contract)].into_iter().collect(),
            codes: [(hash, Bytes::copy_from_slice(code))].into_iter().collect(),
            slots: HashMap::default(),
            mood: Mutex::new(Mood::Helpful),
            questions: AtomicUsize::new(0),
        }
    }

    pub fn snapshot(self) -> (Arc<Self>, Arc<Snapshot>) {
        let world = Arc::new(self);
        let source: Arc<dyn Source> = world.clone();
        (world, Arc::new(Snapshot::new(source, 1_000)))
    }

    pub fn asked(&self) -> usize {
        self.questions.load(Ordering::Relaxed)
    }
}

impl Source for World {
    fn account(&self, address: Address) -> Result<Option<Account>, SourceError> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        Ok(self.accounts.get(&address).copied())
    }

    fn code(&self, hash: B256) -> Result<Bytes, SourceError> {
        assert_ne!(hash, KECCAK256_EMPTY, "nobody asks for no code");
        self.questions.fetch_add(1, Ordering::Relaxed);
        Ok(self.codes[&hash].clone())
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        match *self.mood.lock() {
            Mood::Helpful => Ok(self.slots.get(&(address, slot)).copied().unwrap_or_default()),
            Mood::Failing => Err(SourceError(Arc::new(std::io::Error::other("disk on fire")))),
            Mood::Panicking => panic!("the source lost its head"),
        }
    }

    fn block_hash(&self, number: u64) -> Result<B256, SourceError> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        Ok(B256::with_last_byte(number as u8))
    }
}

/// A transaction from Alice to the contract.
pub fn transaction(nonce: u64) -> Job {
    let env = TxEnv {
        caller: ALICE,
        kind: TxKind::Call(CONTRACT),
        gas_limit: 1_000_000,
        nonce,
        chain_id: Some(270),
        ..TxEnv::default()
    };
    Job {
        rules: Rules { chain_id: 270, fork: SpecId::OSAKA },
        block: BlockEnv { gas_limit: 30_000_000, ..BlockEnv::default() },
        block_hashes: HashMap::default(),
        precompiles: HashMap::default(),
        message: Message { env, mint: U256::ZERO, keeps_nonce: false },
        checks: Checks::ALL,
        limits: Limits::default(),
    }
}
