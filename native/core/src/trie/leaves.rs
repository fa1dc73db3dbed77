//! The leaves of a trie, in the order of their keys.

use alloy_primitives::B256;
use alloy_trie::EMPTY_ROOT_HASH;
use alloy_trie::nodes::RlpNode;

use super::node::Node;
use super::{Error, Leaf, NodeProvider, Trie, path};

impl<P: NodeProvider> Trie<P> {
    /// Return up to `count` keys under `root` with their values, from `start` on, in order.
    ///
    /// Only the nodes on the way are read, so the first leaves of a large trie cost no more than those of a small one.
    pub(super) fn leaves(
        &self,
        root: B256,
        start: &[u8],
        count: usize,
    ) -> Result<Vec<Leaf>, Error<P::Error>> {
        let start = path::unpack(start);
        let mut found = Vec::new();
        let mut unread = match root {
            EMPTY_ROOT_HASH => vec![],
            _ => vec![(RlpNode::word_rlp(&root), vec![])],
        };
        while found.len() < count
            && let Some((node, mut path)) = unread.pop()
        {
            if path[..] < start[..path.len().min(start.len())] {
                continue;
            }
            let leaf = match self.resolve(&node)? {
                Node::Leaf { path: rest, value } => {
                    path.extend(rest);
                    Some((path, value))
                }
                Node::Extension { path: rest, child } => {
                    path.extend(rest);
                    unread.push((child, path));
                    None
                }
                Node::Branch(branch) => {
                    // The last one is read first.
                    for (nibble, child) in (0..16).zip(branch.children).rev() {
                        if !child.is_empty() {
                            unread.push((child, [&path[..], &[nibble]].concat()));
                        }
                    }
                    (!branch.value.is_empty()).then_some((path, branch.value))
                }
            };
            if let Some((path, value)) = leaf.filter(|(path, _)| *path >= start) {
                found.push((path::pack(&path)?, value));
            }
        }
        Ok(found)
    }

    /// Return the node that a parent refers to, or embeds.
    fn resolve(&self, node: &RlpNode) -> Result<Node, Error<P::Error>> {
        match node.as_hash() {
            Some(hash) => {
                self.read(hash, Node::decode)?.map_err(|problem| Error::Corrupt(hash, problem))
            }
            None => Ok(Node::decode(node)?),
        }
    }
}
