//! The Ethereum Merkle Patricia trie over nodes that somebody else stores by their hash.
//!
//! Nothing is ever changed in place: an update reads the nodes on the way to the changed keys and
//! gives back the nodes that are new, so every root whose nodes are kept stays readable.

mod build;
mod cache;
mod change;
mod node;
mod nodes;
mod path;
mod proof;
mod state;
mod update;

#[cfg(test)]
mod tests;

pub use change::{Change, InvalidChange, MAX_KEY_BYTES};
pub use node::Malformed;
pub use nodes::Nodes;
pub use proof::{InvalidProof, verify_proof};

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use rayon::prelude::*;

use cache::Cache;
use node::{Node, Step};

/// Where the nodes are kept.
pub trait NodeSource {
    /// Why the source could not answer.
    type Error;

    /// Give the node of each hash to `found`, with the hash; not those that there are not.
    ///
    /// It takes many at once because asking may be dear, as it is when an interpreter lock must
    /// be waited for.
    fn nodes(
        &self,
        hashes: &[B256],
        found: &mut dyn FnMut(&B256, &[u8]),
    ) -> Result<(), Self::Error>;
}

/// Why a trie could not be read. `E` is the source's own error.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The trie refers to a node that the source does not have.
    #[error("trie node {0} is missing")]
    Missing(B256),
    /// The source gave bytes for this hash that are not the node.
    #[error("trie node {0} is corrupt: {1}")]
    Corrupt(B256, Malformed),
    /// A node holds another one that is not valid.
    #[error("a trie node embeds a corrupt one: {0}")]
    Embedded(#[from] Malformed),
    /// The source could not answer.
    #[error("the source of trie nodes failed")]
    Source(E),
}

/// What an update leads to.
#[derive(Debug)]
pub struct Updated {
    /// The root after the changes.
    pub root: B256,
    /// The nodes on the way to what changed under it.
    pub nodes: Nodes,
}

/// A family of tries whose nodes come from one source.
///
/// Remembers: nodes it has read or made, up to a limit in bytes.
/// Assumes: that callers store the nodes of an update before they forget them.
/// Fails: with what the source did wrong; no failure leaves a trace.
#[derive(Debug)]
pub struct Trie<S> {
    source: S,
    cache: Cache,
}

impl<S: NodeSource> Trie<S> {
    /// Make a trie over `source` that caches at most `cache_bytes` of its nodes.
    pub fn new(source: S, cache_bytes: usize) -> Self {
        Self { source, cache: Cache::new(cache_bytes) }
    }

    /// Return where the nodes are kept.
    pub const fn source(&self) -> &S {
        &self.source
    }

    /// Return the value of `key` under `root`.
    pub fn get(&self, root: B256, key: &[u8]) -> Result<Option<Bytes>, Error<S::Error>> {
        self.walk(root, key, |_| ())
    }

    /// Return the nodes from `root` towards `key` that are kept by hash, the root's first.
    ///
    /// They prove the value of `key`, or that it has none.
    pub fn prove(&self, root: B256, key: &[u8]) -> Result<Vec<Vec<u8>>, Error<S::Error>> {
        let mut proof = Vec::new();
        self.walk(root, key, |node| proof.push(node.to_vec()))?;
        Ok(proof)
    }

    /// Apply `changes` to the trie of `root`; of several changes of a key the last counts.
    pub fn update(&self, root: B256, changes: &[Change]) -> Result<Updated, Error<S::Error>> {
        let updated = update::update(self, root, changes)?;
        for (hash, node) in updated.nodes.iter() {
            self.cache.insert(hash, node);
        }
        Ok(updated)
    }

    fn walk(
        &self,
        root: B256,
        key: &[u8],
        mut visit: impl FnMut(&[u8]),
    ) -> Result<Option<Bytes>, Error<S::Error>> {
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
                Step::Nowhere => return Ok(None),
            }
        }
    }

    /// Return what `read` makes of the node of this hash.
    fn read<T>(&self, hash: B256, mut read: impl FnMut(&[u8]) -> T) -> Result<T, Error<S::Error>> {
        if let Some(answer) = self.cache.read(&hash, &mut read) {
            return Ok(answer);
        }
        let mut nodes = Nodes::default();
        self.ask(&[hash], &mut nodes)?;
        nodes.get(&hash).map(read).ok_or(Error::Missing(hash))
    }

    /// Add the nodes of `hashes` to `nodes`, asking the source once for all that are not cached.
    fn load(&self, hashes: &[B256], nodes: &mut Nodes) -> Result<(), Error<S::Error>> {
        let mut copy = |hash: &B256| self.cache.read(hash, |node| nodes.insert(*hash, node));
        let absent: Vec<_> = hashes.iter().copied().filter(|hash| copy(hash).is_none()).collect();
        match absent.is_empty() {
            true => Ok(()),
            false => self.ask(&absent, nodes),
        }
    }

    fn ask(&self, hashes: &[B256], nodes: &mut Nodes) -> Result<(), Error<S::Error>> {
        let mut found = |hash: &B256, node: &[u8]| nodes.insert(*hash, node);
        self.source.nodes(hashes, &mut found).map_err(Error::Source)?;
        if let Some((hash, problem)) = first_wrong(hashes, nodes) {
            return Err(problem.map_or(Error::Missing(hash), |it| Error::Corrupt(hash, it)));
        }
        for hash in hashes {
            nodes.get(hash).into_iter().for_each(|node| self.cache.insert(*hash, node));
        }
        Ok(())
    }
}

/// Find the first of `hashes` that `nodes` do not have, or have other bytes for.
///
/// Hashing what was read takes as long as hashing what is made, so idle cores help with it.
fn first_wrong(hashes: &[B256], nodes: &Nodes) -> Option<(B256, Option<Malformed>)> {
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
