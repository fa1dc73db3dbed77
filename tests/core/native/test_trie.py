"""The trie compared with py-trie and with itself; invalid nodes and proofs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
import rlp
from hypothesis import given, settings
from hypothesis import strategies as st
from trie.hexary import HexaryTrie

from entresol._native import EMPTY_ROOT, Trie, keccak256, ordered_root, verify_proof
from entresol.errors import EngineError, InvalidProof, TrieError
from tests.support.run.examples import examples

Changes = list[tuple[bytes, bytes | None]]

VALUES = st.binary(min_size=1, max_size=40)
# Few letters, so that keys are prefixes of each other, share extensions and make short nodes.
SHORT_KEYS = st.lists(st.sampled_from([0x00, 0x01, 0x10, 0x11, 0xF0]), max_size=4).map(bytes)
HASHED_KEYS = st.integers(0, 300).map(lambda number: keccak256(number.to_bytes(2, "big")))


def batches(keys: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[Changes]]:
    """Several rounds of changes, a third of them deletions."""
    values = st.one_of(VALUES, VALUES, st.none())
    return st.lists(st.lists(st.tuples(keys, values), max_size=25), min_size=1, max_size=6)


ROUNDS = st.one_of(batches(SHORT_KEYS), batches(HASHED_KEYS))

# py-trie is slow, and how slow depends on what else the machine does.
quickly = settings(deadline=None, max_examples=examples(50))


class Store:
    """Nodes in a dict, and a trie over them."""

    def __init__(self, cache_bytes: int = 64 << 20) -> None:
        self.nodes: dict[bytes, bytes] = {}
        self.trie = Trie(self.nodes.get, cache_bytes)
        self.root = EMPTY_ROOT

    def update(self, changes: Iterable[tuple[bytes, bytes | None]]) -> dict[bytes, bytes]:
        """Apply changes, store the new nodes and return them."""
        self.root, new = self.trie.update(self.root, changes)
        self.nodes.update(new)
        assert len(dict(new)) == len(new)
        return dict(new)

    def cold(self) -> Trie:
        return Trie(self.nodes.get, 0)


def filled(count: int = 200) -> Store:
    """Return a store with hashed keys and values too long to be embedded."""
    store = Store()
    store.update((keccak256(bytes([n])), bytes([n + 1]) * 40) for n in range(count))
    return store


def apply(model: dict[bytes, bytes], changes: Changes) -> None:
    for key, value in changes:
        model.pop(key, None)
        if value is not None:
            model[key] = value


def independent(model: dict[bytes, bytes]) -> HexaryTrie:
    reference = HexaryTrie({})
    for key, value in model.items():
        reference[key] = value
    return reference


def proven_elsewhere(root: bytes, key: bytes, proof: list[bytes]) -> bytes:
    nodes = [rlp.decode(node) for node in proof]
    value: bytes = HexaryTrie.get_from_proof(root, key, nodes)  # type: ignore[no-untyped-call]
    return value


def reachable(nodes: dict[bytes, bytes], root: bytes) -> set[bytes]:
    """Return the hashes of all nodes that `root` needs, all of which must be there."""
    found: set[bytes] = set()
    pending = [] if root == EMPTY_ROOT else [root]
    while pending:
        node_hash = pending.pop()
        if node_hash not in found:
            found.add(node_hash)
            pending.extend(references(rlp.decode(nodes[node_hash])))
    return found


def references(node: list[object]) -> Iterator[bytes]:
    """Yield the hashes that a decoded node refers to, also from nodes embedded in it."""
    if len(node) == 2 and isinstance(node[0], bytes) and node[0][0] & 0x20:
        return
    for child in node[1:] if len(node) == 2 else node[:16]:
        if isinstance(child, list):
            yield from references(child)
        elif isinstance(child, bytes) and child:
            yield child


@quickly
@given(ROUNDS)
def test_roots_are_those_of_an_independent_trie(rounds: list[Changes]) -> None:
    store, model = Store(), dict[bytes, bytes]()
    for changes in rounds:
        store.update(changes)
        apply(model, changes)
        assert store.root == independent(model).root_hash


@quickly
@given(ROUNDS)
def test_new_nodes_are_exactly_what_the_new_root_needs(rounds: list[Changes]) -> None:
    store = Store()
    for changes in rounds:
        before = reachable(store.nodes, store.root)
        new = store.update(changes)
        after = reachable(store.nodes, store.root)
        assert after - before <= new.keys() <= after


@quickly
@given(ROUNDS, SHORT_KEYS)
def test_proofs_verify_here_and_in_py_trie(rounds: list[Changes], stranger: bytes) -> None:
    store, model = Store(), dict[bytes, bytes]()
    for changes in rounds:
        store.update(changes)
        apply(model, changes)
    for key in {stranger, *(key for changes in rounds for key, _ in changes)}:
        proof = store.trie.prove(store.root, key)
        verify_proof(store.root, key, model.get(key), proof)
        # py-trie fails on an absent key that ends inside an extension.
        if key in model or not any(other.startswith(key) for other in model):
            assert proven_elsewhere(store.root, key, proof) == model.get(key, b"")


@quickly
@given(ROUNDS, st.data())
def test_a_tampered_proof_fails(rounds: list[Changes], data: st.DataObject) -> None:
    store, model = Store(), dict[bytes, bytes]()
    for changes in rounds:
        store.update(changes)
        apply(model, changes)
    key = data.draw(st.one_of(SHORT_KEYS, *map(st.just, model)))
    proof = store.trie.prove(store.root, key)
    index = data.draw(st.integers(0, len(proof)))
    with pytest.raises(InvalidProof, match="left over"):
        verify_proof(store.root, key, model.get(key), [*proof, data.draw(st.binary())])
    if index < len(proof):
        bit = data.draw(st.integers(0, len(proof[index]) * 8 - 1))
        number = int.from_bytes(proof[index], "big") ^ (1 << bit)
        flipped = number.to_bytes(len(proof[index]), "big")
        with pytest.raises(InvalidProof, match="hashes to"):
            verify_proof(
                store.root, key, model.get(key), [*proof[:index], flipped, *proof[index + 1 :]]
            )
        with pytest.raises(InvalidProof):
            verify_proof(store.root, key, model.get(key), proof[:index] + proof[index + 1 :])


def test_a_proof_of_another_value_key_or_root_fails() -> None:
    store = filled()
    key, value = keccak256(b"\x07"), b"\x08" * 40
    proof = store.trie.prove(store.root, key)
    with pytest.raises(InvalidProof, match="the key has the value 0x0808"):
        verify_proof(store.root, key, b"\x08", proof)
    with pytest.raises(InvalidProof, match="the key has the value"):
        verify_proof(store.root, key, None, proof)
    with pytest.raises(InvalidProof):
        verify_proof(store.root, keccak256(b"\x09"), value, proof)
    with pytest.raises(InvalidProof, match="node 0 hashes to"):
        verify_proof(bytes(32), key, value, proof)


def test_a_proof_of_absence_proves_no_value() -> None:
    store = filled()
    proof = store.trie.prove(store.root, bytes(32))
    verify_proof(store.root, bytes(32), None, proof)
    with pytest.raises(InvalidProof, match="the key has no value"):
        verify_proof(store.root, bytes(32), b"1", proof)


def test_the_empty_root_is_the_known_one() -> None:
    known = "56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"
    assert bytes.fromhex(known) == EMPTY_ROOT == keccak256(b"\x80")


def test_a_missing_node_is_named_and_the_trie_recovers() -> None:
    store, key = filled(), keccak256(b"\x07")
    trie = store.cold()
    lost = keccak256(trie.prove(store.root, key)[-1])
    node = store.nodes.pop(lost)
    for attempt in (trie.get, trie.prove, lambda r, k: trie.update(r, [(k, None)])):
        with pytest.raises(TrieError, match="is missing") as caught:
            attempt(store.root, key)
        assert str(caught.value) == f"trie node 0x{lost.hex()} is missing"
    store.nodes[lost] = node
    assert trie.get(store.root, key) == b"\x08" * 40


def test_a_failing_provider_is_the_cause_and_the_trie_recovers() -> None:
    store, failure = filled(), OSError("disk")
    failures = [failure]

    def provider(node_hash: bytes) -> bytes | None:
        if failures:
            raise failures.pop()
        return store.nodes.get(node_hash)

    trie = Trie(provider, 0)
    with pytest.raises(EngineError) as caught:
        trie.update(store.root, [(b"key", b"value")])
    assert caught.value.__cause__ is failure
    assert trie.get(store.root, keccak256(b"\x07")) == b"\x08" * 40


def test_an_interrupt_in_the_node_provider_stays_an_interrupt() -> None:
    def provider(_: bytes) -> bytes | None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trie(provider).get(bytes(32), b"key")


def test_a_node_of_another_hash_is_an_error() -> None:
    store, key = filled(), keccak256(b"\x07")
    store.nodes[store.root] += b"\x00"
    trie = store.cold()
    for attempt in (trie.get, trie.prove, lambda r, k: trie.update(r, [(k, None)])):
        with pytest.raises(TrieError, match="the bytes have another hash"):
            attempt(store.root, key)


@pytest.mark.parametrize(
    "node",
    [
        b"",
        rlp.encode([b"\x20", b""]),
        rlp.encode([b"\x99", b"value"]),
        rlp.encode([b"\x20", b"value", b"more"]),
    ],
)
def test_bytes_that_are_not_a_node_are_an_error(node: bytes) -> None:
    trie, root = Trie({keccak256(node): node}.get), keccak256(node)
    with pytest.raises(TrieError, match="corrupt"):
        trie.get(root, b"\x11\x11")
    with pytest.raises(TrieError, match="corrupt"):
        trie.update(root, [(b"\x11\x11", b"value")])


@quickly
@given(st.lists(VALUES, max_size=300))
def test_an_ordered_root_is_that_of_a_trie_by_index(values: list[bytes]) -> None:
    model = {rlp.encode(index): value for index, value in enumerate(values)}
    assert ordered_root(values) == independent(model).root_hash


def test_threads_can_share_a_trie() -> None:
    store = filled()
    trie = Trie(store.nodes.get, 8192)
    roots = [store.root]
    for n in range(20):
        store.update([(keccak256(bytes([n])), b"changed" * 10)])
        roots.append(store.root)

    def work(turn: int) -> None:
        before, after = list(pairwise(roots))[turn % 20]
        key = keccak256(bytes([turn % 20]))
        assert trie.get(before, key) == bytes([turn % 20 + 1]) * 40
        assert trie.update(before, [(key, b"changed" * 10)])[0] == after
        verify_proof(after, key, b"changed" * 10, trie.prove(after, key))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(400)))


def test_a_trie_whose_provider_is_a_method_of_its_owner_is_collected() -> None:
    class Owner:
        def __init__(self) -> None:
            self.trie = Trie(self.find)

        def find(self, _node_hash: bytes) -> bytes | None:
            return None

    owner = weakref.ref(Owner())
    gc.collect()
    assert owner() is None
