//! The trie compared with a map and with the hash builder of alloy-trie.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use alloy_primitives::map::B256Map;
use alloy_primitives::{B256, Bytes, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles};

use super::{Change, Error, InvalidChange, MAX_KEY_BYTES, NodeProvider, Trie, verify_proof};

/// A provider in memory that counts its calls.
#[derive(Default)]
struct Store {
    nodes: RefCell<B256Map<Bytes>>,
    calls: RefCell<usize>,
}

impl NodeProvider for Store {
    type Error = Infallible;

    fn nodes(
        &self,
        hashes: &[B256],
        found: &mut dyn FnMut(&B256, &[u8]),
    ) -> Result<(), Infallible> {
        *self.calls.borrow_mut() += 1;
        let nodes = self.nodes.borrow();
        for hash in hashes {
            nodes.get(hash).into_iter().for_each(|node| found(hash, node));
        }
        Ok(())
    }
}

type Map = BTreeMap<Vec<u8>, Bytes>;

/// A trie whose new nodes are stored at once, and a map of its expected contents.
struct Model {
    trie: Trie<Store>,
    root: B256,
    map: Map,
}

impl Model {
    fn new(cache_bytes: usize) -> Self {
        let trie = Trie::new(Store::default(), cache_bytes);
        Self { trie, root: EMPTY_ROOT_HASH, map: Map::new() }
    }

    fn apply(&mut self, changes: &[(Vec<u8>, Option<Bytes>)]) -> usize {
        for (key, value) in changes {
            match value {
                Some(value) => self.map.insert(key.clone(), value.clone()),
                None => self.map.remove(key),
            };
        }
        let changes: Vec<_> = changes.iter().map(|(k, v)| Change::new(k, v.clone())).collect();
        let changes = changes.into_iter().collect::<Result<Vec<_>, _>>().expect("valid changes");
        let updated = self.trie.update(self.root, &changes).expect("nodes are there");
        self.root = updated.root;
        let made = updated.nodes.len();
        let mut stored = self.trie.provider.nodes.borrow_mut();
        let copied = updated.nodes.iter().map(|(hash, node)| (hash, Bytes::copy_from_slice(node)));
        stored.extend(copied);
        made
    }
}

/// A generator of the usual multiplicative kind; the tests need no better one.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % limit
    }

    fn bytes(&mut self, length: u64, alphabet: &[u8]) -> Vec<u8> {
        let letters = alphabet.len() as u64;
        (0..length).map(|_| alphabet[self.below(letters) as usize]).collect()
    }

    fn value(&mut self) -> Option<Bytes> {
        let length = [1, 2, 31, 32, 33, 80][self.below(6) as usize];
        (self.below(3) > 0).then(|| Bytes::from(self.bytes(length, &[1, 2, 0x7f, 0x80, 0xff])))
    }
}

fn expected_root(map: &Map) -> B256 {
    let mut builder = HashBuilder::default();
    for (key, value) in map {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    builder.root()
}

/// The root of any trie, with values in branches, straight from the definition.
fn defined_root(map: &Map) -> B256 {
    if map.is_empty() {
        return EMPTY_ROOT_HASH;
    }
    let paths = map.iter().map(|(key, value)| (super::path::unpack(key), value.clone()));
    keccak256(defined_node(&paths.collect::<Vec<_>>(), 0))
}

fn defined_node(items: &[(Vec<u8>, Bytes)], depth: usize) -> Vec<u8> {
    use super::node::{Branch, Node};
    use alloy_trie::nodes::RlpNode;
    let first = &items[0].0[depth..];
    if let [(_, value)] = items {
        return Node::Leaf { path: first.to_vec(), value: value.clone() }.encode();
    }
    let common = |item: &(Vec<u8>, Bytes)| super::path::common_prefix(first, &item.0[depth..]);
    let shared = items.iter().map(common).min().unwrap_or_default();
    if shared > 0 {
        let child = RlpNode::from_rlp(&defined_node(items, depth + shared));
        return Node::Extension { path: first[..shared].to_vec(), child }.encode();
    }
    let mut branch = Box::<Branch>::default();
    for nibble in 0..16 {
        let has = |item: &&(Vec<u8>, Bytes)| item.0.get(depth) == Some(&nibble);
        let below: Vec<_> = items.iter().filter(has).cloned().collect();
        if !below.is_empty() {
            let child = RlpNode::from_rlp(&defined_node(&below, depth + 1));
            branch.children[nibble as usize] = child;
        }
    }
    if let Some((_, value)) = items.iter().find(|item| item.0.len() == depth) {
        branch.value = value.clone();
    }
    Node::Branch(branch).encode()
}

fn check_everything(model: &Model, probes: &[Vec<u8>]) {
    for key in model.map.keys().chain(probes) {
        let value = model.map.get(key);
        assert_eq!(model.trie.get(model.root, key), Ok(value.cloned()));
        let proof = model.trie.prove(model.root, key).expect("nodes are there");
        let value = value.map(|value| &value[..]);
        assert_eq!(verify_proof(model.root, key, value, &proof), Ok(()));
        let rest: Vec<_> = model.map.range(key.clone()..).take(3).collect();
        let leaves = model.trie.leaves(model.root, key, 3).expect("nodes are there");
        assert_eq!(leaves.iter().map(|(key, value)| (key, value)).collect::<Vec<_>>(), rest);
    }
}

#[test]
fn keys_of_one_length_have_the_roots_of_alloy() {
    for (seed, length, cache_bytes) in [(1, 2, 0), (2, 3, 1 << 20), (3, 8, 4096), (4, 32, 1 << 20)]
    {
        let (mut random, mut model) = (Random(seed), Model::new(cache_bytes));
        for round in 0..150 {
            let count = random.below(if round % 10 == 0 { 60 } else { 8 });
            let key = |random: &mut Random| random.bytes(length, &[0x00, 0x01, 0x10, 0x11, 0xf0]);
            let batch: Vec<_> = (0..count).map(|_| (key(&mut random), random.value())).collect();
            model.apply(&batch);
            assert_eq!(model.root, expected_root(&model.map));
            let probes: Vec<_> = batch.into_iter().map(|(key, _)| key).collect();
            check_everything(&model, &probes);
        }
    }
}

#[test]
fn keys_that_begin_with_each_other_have_the_roots_of_the_definition() {
    for seed in 0..20 {
        let (mut random, mut model) = (Random(seed), Model::new(1 << 20));
        for _ in 0..40 {
            let count = random.below(12);
            let batch: Vec<_> = (0..count)
                .map(|_| {
                    let length = random.below(6);
                    (random.bytes(length, &[0x00, 0x01, 0x11]), random.value())
                })
                .collect();
            model.apply(&batch);
            assert_eq!(model.root, defined_root(&model.map));
            let probes: Vec<_> = batch.into_iter().map(|(key, _)| key).collect();
            check_everything(&model, &probes);
        }
    }
}

#[test]
fn deleting_everything_gives_the_empty_root() {
    let (mut random, mut model) = (Random(9), Model::new(1 << 20));
    let some = Some(Bytes::from_static(b"value"));
    let all: Vec<_> = (0..500).map(|_| (random.bytes(4, &[0, 1, 16, 17]), some.clone())).collect();
    model.apply(&all);
    let none: Vec<_> = all.into_iter().map(|(key, _)| (key, None)).collect();
    model.apply(&none);
    assert_eq!(model.root, EMPTY_ROOT_HASH);
}

#[test]
fn changes_that_change_nothing_make_no_nodes() {
    let (mut random, mut model) = (Random(5), Model::new(1 << 20));
    let batch: Vec<_> = (0..300).map(|_| (random.bytes(3, &[0, 1, 16]), random.value())).collect();
    model.apply(&batch);
    let absent = [&[0u8, 0x80, 0][..], &[0x80], &[], &[0; 9]].map(|key| (key.to_vec(), None));
    let same = model.map.iter().map(|(key, value)| (key.clone(), Some(value.clone())));
    let batch: Vec<_> = same.chain(absent).collect();
    let root = model.root;
    assert_eq!(model.apply(&batch), 0);
    assert_eq!(model.root, root);
}

#[test]
fn a_batch_calls_the_provider_once_a_level() {
    let mut model = Model::new(0);
    let key = |number: u32| keccak256(number.to_be_bytes()).to_vec();
    let value = |byte: u8| Some(Bytes::from(vec![byte; 80]));
    model.apply(&(0..2000).map(|number| (key(number), value(1))).collect::<Vec<_>>());
    model.apply(&(0..2000).map(|number| (key(number), value(2))).collect::<Vec<_>>());
    assert!(*model.trie.provider.calls.borrow() < 12);
}

#[test]
fn a_missing_node_is_named() {
    let mut model = Model::new(0);
    let key = |number: u8| keccak256([number]).to_vec();
    let value = Some(Bytes::from(vec![1; 80]));
    model.apply(&(0..100).map(|number| (key(number), value.clone())).collect::<Vec<_>>());
    let lost = model.trie.prove(model.root, &key(7)).expect("nodes are there")[1].clone();
    let hash = keccak256(&lost);
    model.trie.provider.nodes.borrow_mut().remove(&hash);
    let deletion = Change::new(&key(7), None).expect("a valid change");
    assert_eq!(model.trie.get(model.root, &key(7)), Err(Error::Missing(hash)));
    assert_eq!(model.trie.update(model.root, &[deletion]).err(), Some(Error::Missing(hash)));
}

#[test]
fn empty_values_and_long_keys_are_rejected() {
    let empty = Some(Bytes::new());
    assert_eq!(Change::new(b"key", empty).err(), Some(InvalidChange::EmptyValue));
    let long = vec![0; MAX_KEY_BYTES + 1];
    assert_eq!(Change::new(&long, None).err(), Some(InvalidChange::KeyTooLong(129)));
}

#[test]
fn the_deepest_trie_fits_a_small_stack() {
    let work = || {
        let mut model = Model::new(1 << 20);
        let keys = (0..=MAX_KEY_BYTES).map(|length| vec![0; length]);
        let batch: Vec<_> = keys.map(|key| (key, Some(Bytes::from(vec![1; 40])))).collect();
        model.apply(&batch);
        let none: Vec<_> = batch.into_iter().map(|(key, _)| (key, None)).collect();
        model.apply(&none[..100]);
        (model.root, model.map)
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(work);
    let (root, map) = thread.expect("a thread starts").join().expect("the stack suffices");
    assert_eq!(root, defined_root(&map));
}
