//! Verification of Merkle proofs.

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;

use super::error::Malformed;
use super::node::{Node, Step};
use super::path;

/// Why a proof is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProof {
    /// A node is not the one that the node before it, or the root, refers to.
    #[error("node {0} hashes to {1}, not to {2}")]
    WrongNode(usize, B256, B256),
    /// A node is not valid.
    #[error("node {0} is malformed: {1}")]
    Malformed(usize, Malformed),
    /// The proof ends before the key is found or found absent.
    #[error("the proof ends before node {0}")]
    Incomplete(B256),
    /// Nodes follow the last one on the path.
    #[error("{0} nodes are left over")]
    Surplus(usize),
    /// The proof is valid, but for another value.
    #[error("the key has the value 0x{}", alloy_primitives::hex::encode(.0))]
    OtherValue(Bytes),
    /// The proof is valid, but shows that the key is absent.
    #[error("the key has no value")]
    Absent,
}

/// Verify that `key` has `value` under `root`; `None` is no value.
pub fn verify_proof(
    root: B256,
    key: &[u8],
    value: Option<&[u8]>,
    proof: &[impl AsRef<[u8]>],
) -> Result<(), InvalidProof> {
    let proven = proven_value(root, &path::unpack(key), proof)?;
    match proven {
        proven if proven.as_ref().map(|proven| &proven[..]) == value => Ok(()),
        Some(other) => Err(InvalidProof::OtherValue(other)),
        None => Err(InvalidProof::Absent),
    }
}

fn proven_value(
    root: B256,
    path: &[u8],
    proof: &[impl AsRef<[u8]>],
) -> Result<Option<Bytes>, InvalidProof> {
    let mut step = match root {
        EMPTY_ROOT_HASH => Step::Absent,
        _ => Step::Descend(root, path.len()),
    };
    for (index, bytes) in proof.iter().map(AsRef::as_ref).enumerate() {
        let Step::Descend(expected, left) = step else {
            return Err(InvalidProof::Surplus(proof.len() - index));
        };
        let hash = keccak256(bytes);
        if hash != expected {
            return Err(InvalidProof::WrongNode(index, hash, expected));
        }
        step = Node::decode(bytes)
            .and_then(|node| node.follow(&path[path.len() - left..]))
            .map_err(|problem| InvalidProof::Malformed(index, problem))?;
    }
    match step {
        Step::Descend(hash, _) => Err(InvalidProof::Incomplete(hash)),
        Step::Value(value) => Ok(Some(value)),
        Step::Absent => Ok(None),
    }
}
