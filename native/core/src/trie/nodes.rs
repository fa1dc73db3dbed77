//! Encoded nodes by hash, in one buffer.
//!
//! A batch handles thousands of nodes; allocating each would cost more than hashing it.

use alloy_primitives::B256;
use alloy_primitives::map::{B256Map, Entry};

/// Nodes by hash. They can be added and cleared, not removed one by one.
#[derive(Debug, Default)]
pub struct Nodes {
    /// Hash, length and bytes of each node, in the order of insertion.
    bytes: Vec<u8>,
    /// Start and end of each node.
    ranges: B256Map<(usize, usize)>,
}

impl Nodes {
    /// Return the node of this hash.
    pub fn get(&self, hash: &B256) -> Option<&[u8]> {
        let &(start, end) = self.ranges.get(hash)?;
        Some(&self.bytes[start..end])
    }

    /// Add `node`, of which `hash` must be the hash.
    pub fn insert(&mut self, hash: B256, node: &[u8]) {
        let Entry::Vacant(entry) = self.ranges.entry(hash) else {
            return;
        };
        self.bytes.extend_from_slice(hash.as_slice());
        self.bytes.extend_from_slice(&node.len().to_ne_bytes());
        let start = self.bytes.len();
        self.bytes.extend_from_slice(node);
        entry.insert((start, self.bytes.len()));
    }

    /// Allocate `total_bytes`, unless something is allocated already.
    pub fn reserve(&mut self, total_bytes: usize) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(total_bytes);
        }
    }

    /// Remove all nodes, but keep the allocation.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
    }

    /// Return the number of nodes.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Return whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Return the size of all nodes with their hashes and lengths.
    pub fn total_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Iterate over hashes and nodes in the order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (B256, &[u8])> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (hash, tail) = rest.split_first_chunk::<32>()?;
            let (length, tail) = tail.split_first_chunk()?;
            let (node, tail) = tail.split_at(usize::from_ne_bytes(*length));
            rest = tail;
            Some((B256::from(*hash), node))
        })
    }
}

/// The result of an update.
#[derive(Debug)]
pub struct Updated {
    /// The root after the changes.
    pub root: B256,
    /// The new nodes.
    pub nodes: Nodes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_back_by_hash_and_in_order() {
        let mut nodes = Nodes::default();
        let [a, b] = [B256::repeat_byte(2), B256::repeat_byte(1)];
        for (hash, node) in [(a, &b"first"[..]), (b, b"second"), (a, b"first")] {
            nodes.insert(hash, node);
        }
        assert_eq!(nodes.get(&b), Some(&b"second"[..]));
        let listed: Vec<_> = nodes.iter().collect();
        assert_eq!(listed, [(a, &b"first"[..]), (b, b"second")]);
        assert_eq!((nodes.len(), nodes.total_bytes()), (2, 2 * (32 + size_of::<usize>()) + 11));
    }
}
