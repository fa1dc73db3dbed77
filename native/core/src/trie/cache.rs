//! A bounded cache of trie nodes by hash, shared by threads.
//!
//! Each shard has two generations. A hit in the old one moves to the young one; when the young one is
//! full, it replaces the old one. That approximates LRU at the cost of a plain map, without a list to
//! reorder on every hit.

use alloy_primitives::B256;
use parking_lot::Mutex;

use super::nodes::Nodes;

const SHARDS: usize = 16;

/// Size of an entry in the map of its generation.
const ENTRY_BYTES: usize = 64;

/// The cache. Nodes never change under their hash, so entries are never stale.
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

    /// Return the result of `read` for the node of this hash, if it is cached.
    ///
    /// `read` should be short: it may run with the shard locked.
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

    /// Insert `node`, of which `hash` must be the hash.
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
        if size_of_nodes(&self.young) + size > limit_bytes {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        // Allocate all at once: growing by doubling could take twice the limit, and untouched memory
        // costs nothing.
        self.young.reserve(limit_bytes);
        self.young.insert(hash, node);
    }
}

fn size_of_nodes(nodes: &Nodes) -> usize {
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
        shards.map(|shard| size_of_nodes(&shard.young) + size_of_nodes(&shard.old)).sum()
    }

    #[test]
    fn the_cache_stays_within_its_limit() {
        let cache = Cache::new(64 << 10);
        for number in 0..10_000 {
            cache.insert(hash(number), &NODE);
            assert!(total(&cache) <= 64 << 10);
        }
        assert!(total(&cache) > 16 << 10);
    }

    #[test]
    fn a_node_in_use_is_not_evicted() {
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
