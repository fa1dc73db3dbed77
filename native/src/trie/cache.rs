//! A bounded cache of trie nodes by hash, shared by threads.
//!
//! Each shard keeps two generations: what is found in the old one moves to the young one, and
//! when the young one is full the old one is dropped and they change places. That keeps what is
//! in use at the cost of a plain map, without a list to reorder on every hit.

use alloy_primitives::B256;
use parking_lot::Mutex;

use super::nodes::Nodes;

const SHARDS: usize = 16;

/// What an entry takes in the map of its generation.
const ENTRY_BYTES: usize = 64;

/// The cache. Nodes never change under their hash, so whatever it holds is right.
#[derive(Debug)]
pub struct Cache {
    shards: [Mutex<Shard>; SHARDS],
    generation_bytes: usize,
}

#[derive(Debug, Default)]
struct Shard {
    young: Nodes,
    old: Nodes,
}

impl Cache {
    /// Make a cache that holds at most `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        Self { shards: Default::default(), generation_bytes: limit_bytes / SHARDS / 2 }
    }

    /// Return what `read` makes of the node of this hash, if it is held.
    ///
    /// Other threads may have to wait meanwhile, so `read` should be short.
    pub fn read<T>(&self, hash: &B256, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mut shard = self.shard(hash).lock();
        if let Some(node) = shard.young.get(hash) {
            return Some(read(node));
        }
        let node = shard.old.get(hash)?.to_vec();
        shard.insert(*hash, &node, self.generation_bytes);
        drop(shard);
        Some(read(&node))
    }

    /// Hold `node`, of which `hash` must be the hash.
    pub fn insert(&self, hash: B256, node: &[u8]) {
        self.shard(&hash).lock().insert(hash, node, self.generation_bytes);
    }

    fn shard(&self, hash: &B256) -> &Mutex<Shard> {
        &self.shards[hash[31] as usize % SHARDS]
    }
}

impl Shard {
    fn insert(&mut self, hash: B256, node: &[u8], limit_bytes: usize) {
        let size = node.len() + ENTRY_BYTES;
        if size > limit_bytes {
            return;
        }
        if held_bytes(&self.young) + size > limit_bytes {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        // All at once, since growing by doubling could take twice the limit; memory that is not
        // touched costs nothing.
        self.young.reserve(limit_bytes);
        self.young.insert(hash, node);
    }
}

fn held_bytes(nodes: &Nodes) -> usize {
    nodes.total_bytes() + nodes.len() * ENTRY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;

    const NODE: [u8; 100] = [0; 100];

    fn hash(number: u32) -> B256 {
        keccak256(number.to_be_bytes())
    }

    fn holds(cache: &Cache, hash: B256) -> bool {
        cache.read(&hash, |node| assert_eq!(node, NODE)).is_some()
    }

    fn total(cache: &Cache) -> usize {
        let shards = cache.shards.iter().map(|shard| shard.lock());
        shards.map(|shard| held_bytes(&shard.young) + held_bytes(&shard.old)).sum()
    }

    #[test]
    fn it_stays_within_its_limit() {
        let cache = Cache::new(64 << 10);
        for number in 0..10_000 {
            cache.insert(hash(number), &NODE);
            assert!(total(&cache) <= 64 << 10);
        }
        assert!(total(&cache) > 16 << 10);
    }

    #[test]
    fn what_is_in_use_stays() {
        let cache = Cache::new(64 << 10);
        cache.insert(hash(0), &NODE);
        for number in 1..10_000 {
            cache.insert(hash(number), &NODE);
            assert!(holds(&cache, hash(0)));
        }
        assert!(!holds(&cache, hash(1)));
    }

    #[test]
    fn a_cache_without_room_holds_nothing() {
        let cache = Cache::new(0);
        cache.insert(hash(0), &NODE);
        assert!(!holds(&cache, hash(0)));
    }
}
