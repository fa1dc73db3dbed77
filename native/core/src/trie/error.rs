//! Why a trie, or a node of it, could not be read.

use alloy_primitives::B256;

/// Why bytes are not a trie node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

impl From<alloy_rlp::Error> for Malformed {
    fn from(_: alloy_rlp::Error) -> Self {
        Self("not RLP")
    }
}

/// Why a trie could not be read. `E` is the provider's own error.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<E> {
    /// The provider does not have a node that the trie refers to.
    #[error("trie node {0} is missing")]
    Missing(B256),
    /// The provider returned bytes for this hash that are not the node.
    #[error("trie node {0} is corrupt: {1}")]
    Corrupt(B256, Malformed),
    /// A node embeds another one that is not valid.
    #[error("a trie node embeds a corrupt one: {0}")]
    Embedded(#[from] Malformed),
    /// The provider failed.
    #[error("the trie node provider failed")]
    Provider(E),
}
