//! Applying a batch of changes in one descent.
//!
//! The changes are sorted by path, so those below a node are one slice, and each touched node is
//! decoded, encoded and hashed once however many changes pass it. A node stays decoded until the
//! one above it is settled, for that may still swallow it.

use alloy_primitives::{B256, Bytes};
use alloy_trie::EMPTY_ROOT_HASH;
use alloy_trie::nodes::RlpNode;

use super::build::Builder;
use super::change::{Change, Entry, by_nibble, insertions, ordered, split_ending};
use super::node::{Branch, Node};
use super::{Error, NodeSource, Nodes, Trie, Updated, path};

/// Up to so many changes have the nodes they need fetched ahead, level by level. It bounds the
/// memory for that.
const FETCH_AHEAD: usize = 4096;

/// Apply `changes` to the trie of `root`.
pub(super) fn update<S: NodeSource>(
    trie: &Trie<S>,
    root: B256,
    changes: &[Change],
) -> Result<Updated, Error<S::Error>> {
    let entries = ordered(changes);
    let mut update = Update { trie, fetched: Nodes::default(), builder: Builder::default() };
    let before = match root {
        EMPTY_ROOT_HASH => RlpNode::default(),
        _ => RlpNode::word_rlp(&root),
    };
    let root = match update.child(&before, 0, &entries)? {
        Outcome::Unchanged => root,
        Outcome::Gone => EMPTY_ROOT_HASH,
        Outcome::Became(node) => update.builder.keep(&node.encode()),
    };
    Ok(Updated { root, nodes: update.builder.finish() })
}

/// What changes make of a node.
enum Outcome {
    /// What it was.
    Unchanged,
    /// Nothing.
    Gone,
    /// Another node, not yet encoded.
    Became(Node),
}

impl From<Option<Node>> for Outcome {
    fn from(node: Option<Node>) -> Self {
        node.map_or(Self::Gone, Self::Became)
    }
}

/// A branch while its children change.
#[derive(Default)]
struct Fork {
    branch: Box<Branch>,
    /// Children that are not encoded yet; `branch` has none at their nibbles.
    fresh: Vec<(u8, Node)>,
}

impl Fork {
    fn put(&mut self, nibble: u8, node: Node) {
        self.clear(nibble);
        self.fresh.push((nibble, node));
    }

    fn clear(&mut self, nibble: u8) {
        self.branch.children[nibble as usize] = RlpNode::default();
        self.fresh.retain(|(at, _)| *at != nibble);
    }

    fn occupants(&self) -> usize {
        let stored = self.branch.children.iter().filter(|child| !child.is_empty()).count();
        stored + self.fresh.len() + usize::from(!self.branch.value.is_empty())
    }
}

struct Update<'t, S> {
    trie: &'t Trie<S>,
    /// Nodes that were fetched ahead of the descent.
    fetched: Nodes,
    builder: Builder,
}

/// Everywhere below, `depth` is the length of the path to a node, which all `entries` begin with.
impl<S: NodeSource> Update<'_, S> {
    fn child(
        &mut self,
        child: &RlpNode,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Outcome, Error<S::Error>> {
        if entries.is_empty() {
            return Ok(Outcome::Unchanged);
        }
        if child.is_empty() {
            let built = self.builder.build(depth, &insertions(entries));
            return Ok(built.map_or(Outcome::Unchanged, Outcome::Became));
        }
        let node = self.open(child, depth, entries)?;
        self.node(node, depth, entries)
    }

    fn node(
        &mut self,
        node: Node,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Outcome, Error<S::Error>> {
        match node {
            Node::Leaf { path, value } => Ok(self.leaf(&path, &value, depth, entries)),
            Node::Extension { path, child } => self.extension(&path, child, depth, entries),
            Node::Branch(branch) => self.fork(Fork { branch, fresh: vec![] }, depth, entries),
        }
    }

    /// A leaf is one more insertion, unless its own key is among the entries.
    fn leaf(&mut self, rest: &[u8], value: &Bytes, depth: usize, entries: &[Entry<'_>]) -> Outcome {
        let path = [&entries[0].path[..depth], rest].concat();
        let own = Entry { path: &path, value: Some(value) };
        let mut wanted = insertions(entries);
        if entries.binary_search_by(|entry| entry.path.cmp(&path)).is_err() {
            let place = wanted.partition_point(|entry| entry.path < &path[..]);
            wanted.insert(place, own);
        }
        if wanted == [own] {
            return Outcome::Unchanged;
        }
        self.builder.build(depth, &wanted).into()
    }

    fn extension(
        &mut self,
        stretch: &[u8],
        child: RlpNode,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Outcome, Error<S::Error>> {
        // A deletion off the stretch finds nothing, and must not split it.
        let matters =
            |entry: &&Entry<'_>| entry.value.is_some() || entry.path[depth..].starts_with(stretch);
        let entries: Vec<_> = entries.iter().filter(matters).copied().collect();
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Ok(Outcome::Unchanged);
        };
        let shared_with = |entry: &Entry<'_>| path::shared(&entry.path[depth..], stretch);
        let shared = shared_with(first).min(shared_with(last));
        let outcome = match shared == stretch.len() {
            true => self.child(&child, depth + shared, &entries)?,
            false => self.fork(cut(&stretch[shared..], child), depth + shared, &entries)?,
        };
        Ok(match outcome {
            Outcome::Became(node) => {
                Outcome::Became(self.builder.prepend(&stretch[..shared], node))
            }
            other => other,
        })
    }

    fn fork(
        &mut self,
        mut fork: Fork,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Outcome, Error<S::Error>> {
        let mut is_changed = false;
        let (ending, passing) = split_ending(entries, depth);
        if let Some(entry) = ending {
            let value = entry.value.cloned().unwrap_or_default();
            is_changed = value != fork.branch.value;
            fork.branch.value = value;
        }
        for (nibble, group) in by_nibble(passing, depth) {
            let outcome = match fork.fresh.iter().find(|(at, _)| *at == nibble) {
                Some((_, node)) => self.node(node.clone(), depth + 1, group)?,
                None => self.child(&fork.branch.children[nibble as usize], depth + 1, group)?,
            };
            match outcome {
                Outcome::Unchanged => continue,
                Outcome::Gone => fork.clear(nibble),
                Outcome::Became(node) => fork.put(nibble, node),
            }
            is_changed = true;
        }
        match is_changed {
            true => self.settle(fork),
            false => Ok(Outcome::Unchanged),
        }
    }

    /// Make a branch of `fork` if it still forks, and what the Yellow Paper has instead if not.
    fn settle(&mut self, mut fork: Fork) -> Result<Outcome, Error<S::Error>> {
        match fork.occupants() {
            0 => return Ok(Outcome::Gone),
            1 => return self.collapse(fork),
            _ => {}
        }
        for (nibble, node) in fork.fresh {
            fork.branch.children[nibble as usize] = self.builder.seal(&node);
        }
        Ok(Outcome::Became(Node::Branch(fork.branch)))
    }

    fn collapse(&mut self, fork: Fork) -> Result<Outcome, Error<S::Error>> {
        let Fork { branch, mut fresh } = fork;
        if !branch.value.is_empty() {
            return Ok(Outcome::Became(Node::Leaf { path: vec![], value: branch.value }));
        }
        if let Some((nibble, node)) = fresh.pop() {
            return Ok(Outcome::Became(self.builder.prepend(&[nibble], node)));
        }
        let mut stored = (0..).zip(&branch.children).filter(|(_, child)| !child.is_empty());
        let (nibble, child) = stored.next().expect("one occupant is left");
        let node = self.open(child, 0, &[])?;
        Ok(Outcome::Became(self.builder.prepend(&[nibble], node)))
    }

    /// Return the node that `child` refers to, having fetched with it what `entries` need below.
    fn open(
        &mut self,
        child: &RlpNode,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<Node, Error<S::Error>> {
        let Some(hash) = child.as_hash() else {
            return Ok(Node::decode(child)?);
        };
        let is_fetched = self.fetched.get(&hash).is_some();
        if !is_fetched && (1..=FETCH_AHEAD).contains(&entries.len()) {
            self.fetch(hash, depth, entries)?;
        }
        let node = match self.fetched.get(&hash) {
            Some(bytes) => Node::decode(bytes),
            None => self.trie.read(hash, Node::decode)?,
        };
        node.map_err(|problem| Error::Corrupt(hash, problem))
    }

    /// Fetch all that `entries` need from the node of `hash` downwards, asking once a level.
    fn fetch(
        &mut self,
        hash: B256,
        depth: usize,
        entries: &[Entry<'_>],
    ) -> Result<(), Error<S::Error>> {
        // Whatever was fetched before belongs to a part of the trie that is done.
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

/// A branch at the start of `stretch`, whose only child so far is the rest of the extension.
fn cut(stretch: &[u8], child: RlpNode) -> Fork {
    let mut fork = Fork::default();
    match stretch {
        [nibble] => fork.branch.children[*nibble as usize] = child,
        [nibble, rest @ ..] => fork.put(*nibble, Node::Extension { path: rest.to_vec(), child }),
        [] => unreachable!("a stretch is cut before its end"),
    }
    fork
}

/// A hash that entries need, with the depth of its node and the entries below it.
type Needed<'e, 'a> = (B256, usize, &'e [Entry<'a>]);

/// Add to `below` what `entries` need under `node`; an embedded node is too short for a hash.
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
