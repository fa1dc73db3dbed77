//! The Merkle Patricia trie over nodes that are stored outside the crate, by hash.
//!
//! Nodes are immutable: an update reads the nodes on the paths to the changed keys and returns the new
//! nodes, so every root whose nodes are stored stays readable.

mod build;
mod cache;
mod change;
mod error;
mod leaves;
mod node;
mod nodes;
mod path;
mod proof;
pub mod state_trie;
mod update;

#[cfg(test)]
mod tests;

pub use change::{Change, InvalidChange, MAX_KEY_BYTES};
pub use error::{Error, Malformed};
pub use nodes::{Nodes, Updated};
pub use proof::{InvalidProof, verify_proof};

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use rayon::prelude::*;

use cache::Cache;
use node::{Node, Step};

/// Storage of trie nodes by hash.
pub trait NodeProvider {
    /// The provider's own error.
    type Error;

    /// Call `found` with each hash and its node, except for hashes without one.
    ///
    /// It takes many hashes at once because a call may be expensive, for instance if it has to wait
    /// for the GIL.
    fn nodes(
        &self,
        hashes: &[B256],
        found: &mut dyn FnMut(&B256, &[u8]),
    ) -> Result<(), Self::Error>;
}

/// A value, if there is one, and the nodes that prove it, the root first.
type Proven = (Option<Bytes>, Vec<Vec<u8>>);
/// A key and its value.
type Leaf = (Vec<u8>, Bytes);

/// All tries whose nodes come from one provider.
///
/// Caches nodes that it has read or made, up to a limit in bytes. Assumes that callers store the nodes
/// of an update before they drop them. An error of the provider is returned and leaves no state behind.
#[derive(Debug)]
pub struct Trie<P> {
    provider: P,
    cache: Cache,
}

impl<P: NodeProvider> Trie<P> {
    /// Make a trie over `provider` that caches at most `cache_bytes` of its nodes.
    pub fn new(provider: P, cache_bytes: usize) -> Self {
        Self { provider, cache: Cache::new(cache_bytes) }
    }

    /// Return the provider of the nodes.
    pub const fn provider(&self) -> &P {
        &self.provider
    }

    /// Return the value of `key` under `root`.
    pub fn get(&self, root: B256, key: &[u8]) -> Result<Option<Bytes>, Error<P::Error>> {
        self.walk(root, key, |_| ())
    }

    /// Return the nodes from `root` towards `key`, the root first, without embedded ones.
    ///
    /// They prove the value of `key`, or that it has none.
    pub fn prove(&self, root: B256, key: &[u8]) -> Result<Vec<Vec<u8>>, Error<P::Error>> {
        self.proven(root, key).map(|(_, proof)| proof)
    }

    /// Return the value of `key` under `root`, and the nodes that prove it.
    fn proven(&self, root: B256, key: &[u8]) -> Result<Proven, Error<P::Error>> {
        let mut proof = Vec::new();
        let value = self.walk(root, key, |node| proof.push(node.to_vec()))?;
        Ok((value, proof))
    }

    fn cache_nodes(&self, nodes: &Nodes) {
        nodes.iter().for_each(|(hash, node)| self.cache.insert(hash, node));
    }

    fn walk(
        &self,
        root: B256,
        key: &[u8],
        mut visit: impl FnMut(&[u8]),
    ) -> Result<Option<Bytes>, Error<P::Error>> {
        if root == EMPTY_ROOT_HASH {
            return Ok(None);
        }
        let path = path::unpack(key);
        let (mut hash, mut rest) = (root, &path[..]);
        loop {
            let step = self.read(hash, |node| {
                visit(node);
                Node::decode(node)?.follow(rest)
            })?;
            match step.map_err(|problem| Error::Corrupt(hash, problem))? {
                Step::Descend(next, left) => (hash, rest) = (next, &rest[rest.len() - left..]),
                Step::Value(value) => return Ok(Some(value)),
                Step::Absent => return Ok(None),
            }
        }
    }

    /// Return the result of `read` for the node of this hash.
    fn read<T>(&self, hash: B256, mut read: impl FnMut(&[u8]) -> T) -> Result<T, Error<P::Error>> {
        if let Some(result) = self.cache.read(&hash, &mut read) {
            return Ok(result);
        }
        let mut nodes = Nodes::default();
        self.fetch(&[hash], &mut nodes)?;
        nodes.get(&hash).map(read).ok_or(Error::Missing(hash))
    }

    /// Add the nodes of `hashes` to `nodes`, with one call of the provider for all that are not cached.
    fn load(&self, hashes: &[B256], nodes: &mut Nodes) -> Result<(), Error<P::Error>> {
        let mut copy = |hash: &B256| self.cache.read(hash, |node| nodes.insert(*hash, node));
        let absent: Vec<_> = hashes.iter().copied().filter(|hash| copy(hash).is_none()).collect();
        match absent.is_empty() {
            true => Ok(()),
            false => self.fetch(&absent, nodes),
        }
    }

    fn fetch(&self, hashes: &[B256], nodes: &mut Nodes) -> Result<(), Error<P::Error>> {
        let mut found = |hash: &B256, node: &[u8]| nodes.insert(*hash, node);
        self.provider.nodes(hashes, &mut found).map_err(Error::Provider)?;
        if let Some((hash, problem)) = first_invalid(hashes, nodes) {
            return Err(problem.map_or(Error::Missing(hash), |it| Error::Corrupt(hash, it)));
        }
        for hash in hashes {
            nodes.get(hash).into_iter().for_each(|node| self.cache.insert(*hash, node));
        }
        Ok(())
    }
}

/// Return the first of `hashes` whose node is missing or has another hash.
///
/// Hashing the nodes read takes as long as hashing the nodes made, so it uses all cores.
fn first_invalid(hashes: &[B256], nodes: &Nodes) -> Option<(B256, Option<Malformed>)> {
    let check = |hash: &B256| match nodes.get(hash) {
        None => Some((*hash, None)),
        Some(node) if keccak256(node) == *hash => None,
        Some(_) => Some((*hash, Some(Malformed("the bytes have another hash")))),
    };
    match hashes.len() {
        ..64 => hashes.iter().find_map(check),
        _ => hashes.par_iter().with_min_len(32).find_map_first(check),
    }
}
