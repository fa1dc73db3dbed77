//! Construction and encoding of new nodes.

use alloy_primitives::{B256, keccak256};
use alloy_trie::nodes::RlpNode;

use super::change::{Entry, by_nibble, split_ending};
use super::node::{Branch, Node};
use super::nodes::Nodes;
use super::path;

/// Makes nodes, and collects those to store if somebody is to store them.
pub struct Builder {
    made: Option<Nodes>,
    /// Buffer for encoding, reused from node to node.
    scratch: Vec<u8>,
}

impl Builder {
    /// Make nodes to be stored, or only to be hashed.
    pub fn new(is_stored: bool) -> Self {
        Self { made: is_stored.then(Nodes::default), scratch: Vec::new() }
    }

    /// Return the nodes to store.
    pub fn finish(self) -> Nodes {
        self.made.unwrap_or_default()
    }

    /// Build a subtrie of exactly `entries`, which all have values.
    pub(super) fn build(&mut self, depth: usize, entries: &[Entry<'_>]) -> Option<Node> {
        let (first, last) = (entries.first()?, entries.last()?);
        if entries.len() == 1 {
            let value = first.value.cloned().unwrap_or_default();
            return Some(Node::Leaf { path: first.path[depth..].to_vec(), value });
        }
        let shared = path::common_prefix(&first.path[depth..], &last.path[depth..]);
        let fork_depth = depth + shared;
        let mut branch = Box::<Branch>::default();
        let (ending, longer) = split_ending(entries, fork_depth);
        branch.value = ending.and_then(|entry| entry.value).cloned().unwrap_or_default();
        for (nibble, group) in by_nibble(longer, fork_depth) {
            let node = self.build(fork_depth + 1, group)?;
            branch.children[nibble as usize] = self.encode(&node);
        }
        Some(self.prepend(&first.path[depth..fork_depth], Node::Branch(branch)))
    }

    /// Prepend `prefix` to the path of `node`.
    pub fn prepend(&mut self, prefix: &[u8], node: Node) -> Node {
        if prefix.is_empty() {
            return node;
        }
        match node {
            Node::Leaf { path, value } => Node::Leaf { path: [prefix, &path].concat(), value },
            Node::Extension { path, child } => {
                Node::Extension { path: [prefix, &path].concat(), child }
            }
            Node::Branch(_) => Node::Extension { path: prefix.to_vec(), child: self.encode(&node) },
        }
    }

    /// Encode `node` and return a reference to it.
    pub fn encode(&mut self, node: &Node) -> RlpNode {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        node.encode_to(&mut bytes);
        let reference = match bytes.len() {
            ..32 => RlpNode::from_rlp(&bytes),
            _ => RlpNode::word_rlp(&self.store(&bytes)),
        };
        self.scratch = bytes;
        reference
    }

    /// Store an encoded node and return its hash; a root is stored however short it is.
    pub fn store(&mut self, bytes: &[u8]) -> B256 {
        let hash = keccak256(bytes);
        if let Some(made) = &mut self.made {
            made.insert(hash, bytes);
        }
        hash
    }
}
