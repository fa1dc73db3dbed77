//! Update of a trie by a batch of changes, in one descent.
//!
//! The changes are sorted by path, so those below a node are one slice, and each touched node is
//! decoded, encoded and hashed once, however many changes are below it. A node stays decoded until its
//! parent is final, because the parent may still be merged with it.

use alloy_primitives::{B256, Bytes};
use alloy_trie::EMPTY_ROOT_HASH;
use alloy_trie::nodes::RlpNode;

use super::build::Builder;
use super::change::{Change, Entry, by_nibble, insertions, ordered, split_ending};
use super::error::Error;
use super::node::{Branch, Node};
use super::nodes::{Nodes, Updated};
use super::path::common_prefix;
use super::{NodeProvider, Trie};

/// Maximum number of changes whose nodes are prefetched, level by level, which bounds the memory.
const MAX_PREFETCH: usize = 4096;
/// Maximum number of changes whose nodes are first looked up in the cache one by one: a prefetch decodes
/// each node once more, to have one call of the provider a level.
const MAX_LOOKUPS: usize = 16;

impl<P: NodeProvider> Trie<P> {
    /// Apply `changes` to the trie of `root`; the last change of a key wins.
    pub fn update(&self, root: B256, changes: &[Change]) -> Result<Updated, Error<P::Error>> {
        let updated = update(self, root, changes, true)?;
        self.cache_nodes(&updated.nodes);
        Ok(updated)
    }
}

/// Apply `changes` to the trie of `root`; unless `is_stored`, the new nodes are not returned.
pub(super) fn update<P: NodeProvider>(
    trie: &Trie<P>,
    root: B256,
    changes: &[Change],
    is_stored: bool,
) -> Result<Updated, Error<P::Error>> {
    let entries = ordered(changes);
    let mut update = Update { trie, fetched: Nodes::default(), builder: Builder::new(is_stored) };
    let before = match root {
        EMPTY_ROOT_HASH => RlpNode::default(),
        _ => RlpNode::word_rlp(&root),
    };
    let root = match update.child(&before, 0, &entries)? {
        UpdatedNode::Unchanged => root,
        UpdatedNode::Removed => EMPTY_ROOT_HASH,
        UpdatedNode::New(node) => update.builder.store(&node.encode()),
    };
    Ok(Updated { root, nodes: update.builder.finish() })
}

/// A node after the changes below it.
enum UpdatedNode {
    /// The same node.
    Unchanged,
    /// No node.
    Removed,
    /// A new node, not yet encoded.
    New(Node),
}

impl From<Option<Node>> for UpdatedNode {
    fn from(node: Option<Node>) -> Self {
        node.map_or(Self::Removed, Self::New)
    }
}

/// A branch whose children change.
#[derive(Default)]
struct OpenBranch {
    branch: Box<Branch>,
    /// Children that are not encoded yet; `branch` is empty at their nibbles.
    decoded: Vec<(u8, Node)>,
}

impl OpenBranch {
    fn insert(&mut self, nibble: u8, node: Node) {
        self.remove(nibble);
        self.decoded.push((nibble, node));
    }

    fn remove(&mut self, nibble: u8) {
        self.branch.children[nibble as usize] = RlpNode::default();
        self.decoded.retain(|(at, _)| *at != nibble);
    }

    /// Count the children and the value.
    fn len(&self) -> usize {
        let stored = self.branch.children.iter().filter(|child| !child.is_empty()).count();
        stored + self.decoded.len() + usize::from(!self.branch.value.is_empty())
    }
}

struct Update<'t, P> {
    trie: &'t Trie<P>,
    /// Prefetched nodes.
    fetched: Nodes,
    builder: Builder,
}

/// Everywhere below, `depth` is the length of the path to a node, which all `entries` begin with.
impl<P: NodeProvider> Update<'_, P> {
    fn child(
        &mut self,
        child: &RlpNode,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<UpdatedNode, Error<P::Error>> {
        if entries.is_empty() {
            return Ok(UpdatedNode::Unchanged);
        }
        if child.is_empty() {
            let built = self.builder.build(depth, &insertions(entries));
            return Ok(built.map_or(UpdatedNode::Unchanged, UpdatedNode::New));
        }
        let node = self.open(child, depth, entries)?;
        self.node(node, depth, entries)
    }

    fn node(
        &mut self,
        node: Node,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<UpdatedNode, Error<P::Error>> {
        match node {
            Node::Leaf { path, value } => Ok(self.leaf(&path, &value, depth, entries)),
            Node::Extension { path, child } => self.extension(&path, child, depth, entries),
            Node::Branch(branch) => {
                self.branch(OpenBranch { branch, decoded: vec![] }, depth, entries)
            }
        }
    }

    /// Treat a leaf as one more insertion, unless its own key is among the entries.
    fn leaf(
        &mut self,
        rest: &[u8],
        value: &Bytes,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> UpdatedNode {
        let path = [&entries[0].path[..depth], rest].concat();
        let own = Entry { path: &path, value: Some(value) };
        let mut insertions = insertions(entries);
        if entries.binary_search_by(|entry| entry.path.cmp(&path)).is_err() {
            let index = insertions.partition_point(|entry| entry.path < &path[..]);
            insertions.insert(index, own);
        }
        if insertions == [own] {
            return UpdatedNode::Unchanged;
        }
        self.builder.build(depth, &insertions).into()
    }

    fn extension(
        &mut self,
        path: &[u8],
        child: RlpNode,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<UpdatedNode, Error<P::Error>> {
        // A deletion outside of the extension finds nothing, and must not split it.
        let matters =
            |entry: &&Entry<'_>| entry.value.is_some() || entry.path[depth..].starts_with(path);
        let entries: Vec<_> = entries.iter().filter(matters).copied().collect();
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Ok(UpdatedNode::Unchanged);
        };
        let shared_with = |entry: &Entry<'_>| common_prefix(&entry.path[depth..], path);
        let shared = shared_with(first).min(shared_with(last));
        let updated = match shared == path.len() {
            true => self.child(&child, depth + shared, &entries)?,
            false => {
                self.branch(split_extension(&path[shared..], child), depth + shared, &entries)?
            }
        };
        Ok(match updated {
            UpdatedNode::New(node) => UpdatedNode::New(self.builder.prepend(&path[..shared], node)),
            other => other,
        })
    }

    fn branch(
        &mut self,
        mut open: OpenBranch,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<UpdatedNode, Error<P::Error>> {
        let mut is_changed = false;
        let (ending, longer) = split_ending(entries, depth);
        if let Some(entry) = ending {
            let value = entry.value.cloned().unwrap_or_default();
            is_changed = value != open.branch.value;
            open.branch.value = value;
        }
        for (nibble, group) in by_nibble(longer, depth) {
            let updated = match open.decoded.iter().find(|(at, _)| *at == nibble) {
                Some((_, node)) => self.node(node.clone(), depth + 1, group)?,
                None => self.child(&open.branch.children[nibble as usize], depth + 1, group)?,
            };
            match updated {
                UpdatedNode::Unchanged => continue,
                UpdatedNode::Removed => open.remove(nibble),
                UpdatedNode::New(node) => open.insert(nibble, node),
            }
            is_changed = true;
        }
        match is_changed {
            true => self.close(open),
            false => Ok(UpdatedNode::Unchanged),
        }
    }

    /// Return a branch if at least two children or values are left, and otherwise its replacement.
    fn close(&mut self, mut open: OpenBranch) -> Result<UpdatedNode, Error<P::Error>> {
        match open.len() {
            0 => return Ok(UpdatedNode::Removed),
            1 => return self.collapse(open),
            _ => {}
        }
        for (nibble, node) in open.decoded {
            open.branch.children[nibble as usize] = self.builder.encode(&node);
        }
        Ok(UpdatedNode::New(Node::Branch(open.branch)))
    }

    fn collapse(&mut self, open: OpenBranch) -> Result<UpdatedNode, Error<P::Error>> {
        let OpenBranch { branch, mut decoded } = open;
        if !branch.value.is_empty() {
            return Ok(UpdatedNode::New(Node::Leaf { path: vec![], value: branch.value }));
        }
        if let Some((nibble, node)) = decoded.pop() {
            return Ok(UpdatedNode::New(self.builder.prepend(&[nibble], node)));
        }
        let mut stored = (0..).zip(&branch.children).filter(|(_, child)| !child.is_empty());
        let (nibble, child) = stored.next().expect("one child is left");
        let node = self.open(child, 0, &[])?;
        Ok(UpdatedNode::New(self.builder.prepend(&[nibble], node)))
    }

    /// Return the node that `child` refers to, and prefetch what `entries` need below it.
    fn open(
        &mut self,
        child: &RlpNode,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Node, Error<P::Error>> {
        let Some(hash) = child.as_hash() else {
            return Ok(Node::decode(child)?);
        };
        let fetched = self.fetched.get(&hash).map(Node::decode);
        let cached = || match entries.len() {
            ..=MAX_LOOKUPS => self.trie.cache.read(&hash, Node::decode),
            _ => None,
        };
        let node = match fetched.or_else(cached) {
            Some(node) => node,
            None if (1..=MAX_PREFETCH).contains(&entries.len()) => {
                self.fetch(hash, depth, entries)?;
                self.fetched.get(&hash).map(Node::decode).ok_or(Error::Missing(hash))?
            }
            None => self.trie.read(hash, Node::decode)?,
        };
        node.map_err(|problem| Error::Corrupt(hash, problem))
    }

    /// Fetch all nodes that `entries` need from `hash` downwards, with one call of the provider a level.
    fn fetch(
        &mut self,
        hash: B256,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<(), Error<P::Error>> {
        // Nodes fetched before belong to a part of the trie that is done.
        self.fetched.clear();
        let mut level = vec![(hash, depth, entries)];
        while !level.is_empty() {
            let hashes: Vec<_> = level.iter().map(|(hash, ..)| *hash).collect();
            self.trie.load(&hashes, &mut self.fetched)?;
            let mut below = Vec::new();
            for (hash, depth, entries) in level {
                let bytes = self.fetched.get(&hash).ok_or(Error::Missing(hash))?;
                let node = Node::decode(bytes).map_err(|problem| Error::Corrupt(hash, problem))?;
                needed_below(&node, depth, entries, &mut below);
            }
            level = below;
        }
        Ok(())
    }
}

/// Return a branch at the start of `path`, whose only child is the rest of the extension.
fn split_extension(path: &[u8], child: RlpNode) -> OpenBranch {
    let mut open = OpenBranch::default();
    match path {
        [nibble] => open.branch.children[*nibble as usize] = child,
        [nibble, rest @ ..] => open.insert(*nibble, Node::Extension { path: rest.to_vec(), child }),
        [] => unreachable!("an extension is split before its end"),
    }
    open
}

/// A hash that entries need, with the depth of its node and the entries below it.
type Needed<'e, 'a> = (B256, usize, &'e [Entry<'a>]);

/// Add to `below` what `entries` need under `node`; embedded nodes need no fetch.
fn needed_below<'e, 'a>(
    node: &Node,
    depth: usize,
    entries: &'e [Entry<'a>],
    below: &mut Vec<Needed<'e, 'a>>,
) {
    match node {
        Node::Leaf { .. } => {}
        Node::Extension { path, child } => {
            let start = entries.partition_point(|entry| entry.path[depth..] < path[..]);
            let under = |entry: &Entry<'_>| entry.path[depth..].starts_with(path);
            let count = entries[start..].partition_point(under);
            if let (Some(hash), 1..) = (child.as_hash(), count) {
                below.push((hash, depth + path.len(), &entries[start..start + count]));
            }
        }
        Node::Branch(branch) => {
            for (nibble, group) in by_nibble(split_ending(entries, depth).1, depth) {
                if let Some(hash) = branch.children[nibble as usize].as_hash() {
                    below.push((hash, depth + 1, group));
                }
            }
        }
    }
}
