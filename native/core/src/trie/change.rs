//! Changes of keys, and their order in an update.

use alloy_primitives::{B256, Bytes};

use super::path;

/// The longest key that can be changed.
///
/// An update recurses once a node, so the length of keys bounds the stack it takes. The keys of
/// Ethereum have 32 bytes.
pub const MAX_KEY_BYTES: usize = 128;

/// A key and its new value, or `None` to delete it.
#[derive(Clone, Debug)]
pub struct Change {
    path: Vec<u8>,
    value: Option<Bytes>,
}

/// Why a change cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidChange {
    /// A trie has no empty values.
    #[error("a trie cannot hold an empty value; None deletes")]
    EmptyValue,
    /// The key is longer than [`MAX_KEY_BYTES`].
    #[error("a key has at most {MAX_KEY_BYTES} bytes, got {0}")]
    KeyTooLong(usize),
}

impl Change {
    /// Set `key` to `value`; `None` deletes it.
    pub fn new(key: &[u8], value: Option<Bytes>) -> Result<Self, InvalidChange> {
        if key.len() > MAX_KEY_BYTES {
            return Err(InvalidChange::KeyTooLong(key.len()));
        }
        if value.as_ref().is_some_and(|value| value.is_empty()) {
            return Err(InvalidChange::EmptyValue);
        }
        Ok(Self { path: path::unpack(key), value })
    }

    /// Set a key of 32 bytes to `value`, which is not empty; `None` deletes it.
    pub(super) fn of_word(key: B256, value: Option<Bytes>) -> Self {
        Self { path: path::unpack(key.as_slice()), value }
    }

    fn entry(&self) -> Entry<'_> {
        Entry { path: &self.path, value: self.value.as_ref() }
    }
}

/// A change during an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// The whole path of the key.
    pub path: &'a [u8],
    /// The new value.
    pub value: Option<&'a Bytes>,
}

/// Return `changes` sorted by path, without duplicates.
pub(super) fn ordered(changes: &[Change]) -> Vec<Entry<'_>> {
    let mut entries: Vec<_> = changes.iter().map(Change::entry).collect();
    // A stable sort, so that the last of several changes of a key stays the last.
    entries.sort_by(|left, right| left.path.cmp(right.path));
    let same_path = |left: &Entry<'_>, right: &Entry<'_>| left.path == right.path;
    entries.chunk_by(same_path).filter_map(|same| same.last().copied()).collect()
}

/// Split off the entry whose path ends at `depth`; being the shortest it comes first.
pub(super) fn split_ending<'e, 'a>(
    entries: &'e [Entry<'a>],
    depth: usize,
) -> (Option<&'e Entry<'a>>, &'e [Entry<'a>]) {
    match entries.split_first() {
        Some((first, rest)) if first.path.len() == depth => (Some(first), rest),
        _ => (None, entries),
    }
}

/// Group entries that are all longer than `depth` by their nibble there.
pub(super) fn by_nibble<'e, 'a>(
    entries: &'e [Entry<'a>],
    depth: usize,
) -> impl Iterator<Item = (u8, &'e [Entry<'a>])> {
    entries
        .chunk_by(move |left, right| left.path[depth] == right.path[depth])
        .map(move |group| (group[0].path[depth], group))
}

/// Return the entries that set a value.
pub(super) fn insertions<'a>(entries: &[Entry<'a>]) -> Vec<Entry<'a>> {
    entries.iter().copied().filter(|entry| entry.value.is_some()).collect()
}
