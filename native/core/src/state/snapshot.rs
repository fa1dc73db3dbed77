//! The state after one block, read through a cache that later snapshots inherit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::map::{DefaultHashBuilder, HashMap};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use parking_lot::RwLock;
use revm::bytecode::Bytecode;

use super::changes::Changes;
use super::remote::rounds;
use super::{Account, ProviderError, State, StateProvider};

type SharedMap<K, V> =
    imbl::GenericHashMap<K, V, DefaultHashBuilder, imbl::shared_ptr::DefaultSharedPtr>;

/// Bytes of analysed code at which the code cache is cleared.
const CODE_CACHE_BYTES: usize = 256 << 20;

/// The state after one block.
///
/// Caches what it read from its provider and inherits its parent's cache, in maps that share
/// structure with the parent's: a hot account is read from the provider once, not once a block.
/// Assumes that the provider is immutable. A provider's error is returned and not cached, so that
/// the read can be retried; nor is the placeholder that a round has instead of it.
pub struct Snapshot {
    provider: Arc<dyn StateProvider>,
    cache: RwLock<Cache>,
    codes: Arc<CodeCache>,
    block_hashes: RwLock<HashMap<u64, B256>>,
    cache_entries: usize,
}

#[derive(Clone, Default)]
struct Cache {
    accounts: SharedMap<Address, Option<Account>>,
    storage: SharedMap<Address, SharedMap<U256, U256>>,
    slots: usize,
}

impl Snapshot {
    /// Read `provider` through a cache of about `cache_entries` accounts and slots.
    pub fn new(provider: Arc<dyn StateProvider>, cache_entries: usize) -> Self {
        Self {
            provider,
            cache: RwLock::default(),
            codes: Arc::default(),
            block_hashes: RwLock::default(),
            cache_entries,
        }
    }

    /// Return the snapshot after `changes`, which `provider` already contains.
    pub fn advance(&self, changes: &Changes, provider: Arc<dyn StateProvider>) -> Self {
        let mut cache = self.cache.read().clone();
        if cache.len() > self.cache_entries {
            cache = Cache::default();
        }
        for change in &changes.accounts {
            cache.accounts.insert(change.address, change.after);
            if change.destroyed {
                cache.remove_storage(change.address);
            }
            for (slot, values) in &change.storage {
                cache.insert_slot(change.address, *slot, values.after);
            }
        }
        for (hash, code) in &changes.codes {
            self.codes.insert(*hash, code.clone());
        }
        Self {
            provider,
            cache: RwLock::new(cache),
            codes: Arc::clone(&self.codes),
            block_hashes: RwLock::default(),
            cache_entries: self.cache_entries,
        }
    }

    /// Whether a part of the state is that of a remote chain, and may not be known.
    pub fn is_remote(&self) -> bool {
        self.provider.is_remote()
    }

    /// Return how many accounts and slots are cached.
    pub fn cached(&self) -> usize {
        self.cache.read().len()
    }

    fn has_room(&self) -> bool {
        // Twice the limit, so that the reads of one block do not clear the cache for the next.
        self.cache.read().len() < 2 * self.cache_entries
    }
}

impl State for Snapshot {
    fn account(&self, address: Address) -> Result<Option<Account>, ProviderError> {
        if let Some(known) = self.cache.read().accounts.get(&address) {
            return Ok(*known);
        }
        let account = match self.provider.account(address) {
            Ok(account) => account,
            Err(error) => return rounds::placeholder_account(address, error),
        };
        if self.has_room() {
            self.cache.write().accounts.insert(address, account);
        }
        Ok(account)
    }

    fn code(&self, hash: B256) -> Result<Bytecode, ProviderError> {
        if hash == KECCAK256_EMPTY {
            return Ok(Bytecode::default());
        }
        if let Some(code) = self.codes.get(hash) {
            return Ok(code);
        }
        let code = match self.provider.code(hash) {
            Ok(code) => analyse(code),
            Err(error) => return rounds::placeholder(error),
        };
        self.codes.insert(hash, code.clone());
        Ok(code)
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, ProviderError> {
        if let Some(known) = self.cache.read().slot(address, slot) {
            return Ok(known);
        }
        let value = match self.provider.slot(address, slot) {
            Ok(value) => value,
            Err(error) => return rounds::placeholder(error),
        };
        if self.has_room() {
            self.cache.write().insert_slot(address, slot, value);
        }
        Ok(value)
    }

    fn block_hash(&self, number: u64) -> Result<B256, ProviderError> {
        if let Some(known) = self.block_hashes.read().get(&number) {
            return Ok(*known);
        }
        let hash = match self.provider.block_hash(number) {
            Ok(hash) => hash,
            Err(error) => return rounds::placeholder(error),
        };
        self.block_hashes.write().insert(number, hash);
        Ok(hash)
    }
}

impl Cache {
    fn len(&self) -> usize {
        self.accounts.len() + self.slots
    }

    fn slot(&self, address: Address, slot: U256) -> Option<U256> {
        self.storage.get(&address)?.get(&slot).copied()
    }

    fn insert_slot(&mut self, address: Address, slot: U256, value: U256) {
        let storage = self.storage.entry(address).or_default();
        if storage.insert(slot, value).is_none() {
            self.slots += 1;
        }
    }

    fn remove_storage(&mut self, address: Address) {
        if let Some(storage) = self.storage.remove(&address) {
            self.slots -= storage.len();
        }
    }
}

/// Code by hash, shared by a snapshot and its descendants: code never changes under its hash.
#[derive(Default)]
struct CodeCache {
    codes: RwLock<HashMap<B256, Bytecode>>,
    bytes: AtomicUsize,
}

impl CodeCache {
    fn get(&self, hash: B256) -> Option<Bytecode> {
        self.codes.read().get(&hash).cloned()
    }

    fn insert(&self, hash: B256, code: Bytecode) {
        let mut codes = self.codes.write();
        if self.bytes.fetch_add(code.len(), Ordering::Relaxed) > CODE_CACHE_BYTES {
            codes.clear();
            self.bytes.store(code.len(), Ordering::Relaxed);
        }
        codes.insert(hash, code);
    }
}

/// Analyse `code` for execution. A malformed delegation designator is plain code.
pub fn analyse(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::changes::{AccountChange, SlotChange};
    use crate::testing::{ALICE, BOB, CONTRACT, World};

    #[test]
    fn the_provider_is_read_once() {
        let (world, snapshot) = World::with_contract(&[0]).snapshot();
        for _ in 0..3 {
            snapshot.account(ALICE).unwrap();
            snapshot.account(BOB).unwrap();
            snapshot.slot(CONTRACT, U256::ONE).unwrap();
            snapshot.block_hash(5).unwrap();
        }
        assert_eq!(world.reads(), 4);
        assert_eq!(snapshot.cached(), 3);
    }

    #[test]
    fn the_next_snapshot_inherits_what_did_not_change() {
        let (world, snapshot) = World::with_contract(&[0]).snapshot();
        snapshot.account(ALICE).unwrap();
        snapshot.slot(CONTRACT, U256::ONE).unwrap();
        let reads = world.reads();
        let next = snapshot.advance(&Changes::default(), world.clone());
        next.account(ALICE).unwrap();
        next.slot(CONTRACT, U256::ONE).unwrap();
        assert_eq!(world.reads(), reads);
    }

    #[test]
    fn a_change_is_visible_in_the_next_snapshot_only() {
        let (world, snapshot) = World::with_contract(&[0]).snapshot();
        let before = snapshot.account(ALICE).unwrap();
        let changes = Changes { accounts: vec![change(ALICE, before, None)], ..Default::default() };
        let next = snapshot.advance(&changes, world);
        assert_eq!(next.account(ALICE).unwrap(), None);
        assert_eq!(snapshot.account(ALICE).unwrap(), before);
    }

    #[test]
    fn a_destroyed_contract_loses_its_cached_slots() {
        let mut world = World::with_contract(&[0]);
        world.slots.insert((CONTRACT, U256::ONE), U256::from(11));
        let (_, snapshot) = world.snapshot();
        let before = snapshot.account(CONTRACT).unwrap();
        snapshot.slot(CONTRACT, U256::ONE).unwrap();
        let mut destroyed = change(CONTRACT, before, before);
        destroyed.destroyed = true;
        destroyed
            .storage
            .insert(U256::from(2), SlotChange { before: Some(U256::ZERO), after: U256::from(22) });
        let after = Arc::new(World::with_contract(&[0]));
        let next =
            snapshot.advance(&Changes { accounts: vec![destroyed], ..Default::default() }, after);
        assert_eq!(next.slot(CONTRACT, U256::ONE).unwrap(), U256::ZERO);
        assert_eq!(next.slot(CONTRACT, U256::from(2)).unwrap(), U256::from(22));
    }

    #[test]
    fn a_full_cache_is_cleared() {
        let provider = Arc::new(World::with_contract(&[0]));
        let snapshot = Snapshot::new(provider.clone(), 10);
        for slot in 0..100 {
            snapshot.slot(CONTRACT, U256::from(slot)).unwrap();
        }
        assert_eq!(snapshot.cached(), 20);
        assert_eq!(snapshot.advance(&Changes::default(), provider).cached(), 0);
    }

    fn change(address: Address, before: Option<Account>, after: Option<Account>) -> AccountChange {
        AccountChange { address, before, after, destroyed: false, storage: Default::default() }
    }
}
