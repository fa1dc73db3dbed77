//! Making nodes: of what has no trie yet, and from their parts.

use alloy_primitives::{B256, keccak256};
use alloy_trie::nodes::RlpNode;

use super::change::{Entry, by_nibble, split_ending};
use super::node::{Branch, Node};
use super::{Nodes, path};

/// Makes nodes and keeps those that are to be stored.
#[derive(Default)]
pub struct Builder {
    made: Nodes,
    /// Where nodes are encoded, so that not each needs memory of its own.
    scratch: Vec<u8>,
}

impl Builder {
    /// Return the nodes that are to be stored.
    pub fn finish(self) -> Nodes {
        self.made
    }

    /// Build what holds exactly `entries`, which all have values, where nothing was.
    pub(super) fn build(&mut self, depth: usize, entries: &[Entry<'_>]) -> Option<Node> {
        let (first, last) = (entries.first()?, entries.last()?);
        if entries.len() == 1 {
            let value = first.value.cloned().unwrap_or_default();
            return Some(Node::Leaf { path: first.path[depth..].to_vec(), value });
        }
        let shared = path::shared(&first.path[depth..], &last.path[depth..]);
        let fork_depth = depth + shared;
        let mut branch = Box::<Branch>::default();
        let (ending, passing) = split_ending(entries, fork_depth);
        branch.value = ending.and_then(|entry| entry.value).cloned().unwrap_or_default();
        for (nibble, group) in by_nibble(passing, fork_depth) {
            let node = self.build(fork_depth + 1, group)?;
            branch.children[nibble as usize] = self.seal(&node);
        }
        Some(self.prepend(&first.path[depth..fork_depth], Node::Branch(branch)))
    }

    /// Put a stretch of path before `node`.
    pub fn prepend(&mut self, stretch: &[u8], node: Node) -> Node {
        if stretch.is_empty() {
            return node;
        }
        match node {
            Node::Leaf { path, value } => Node::Leaf { path: [stretch, &path].concat(), value },
            Node::Extension { path, child } => {
                Node::Extension { path: [stretch, &path].concat(), child }
            }
            Node::Branch(_) => Node::Extension { path: stretch.to_vec(), child: self.seal(&node) },
        }
    }

    /// Return a reference to `node`, now that nothing will swallow it.
    pub fn seal(&mut self, node: &Node) -> RlpNode {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        node.encode_to(&mut bytes);
        let reference = match bytes.len() {
            ..32 => RlpNode::from_rlp(&bytes),
            _ => RlpNode::word_rlp(&self.keep(&bytes)),
        };
        self.scratch = bytes;
        reference
    }

    /// Keep an encoded node and return its hash; a root is kept however short it is.
    pub fn keep(&mut self, bytes: &[u8]) -> B256 {
        let hash = keccak256(bytes);
        self.made.insert(hash, bytes);
        hash
    }
}
