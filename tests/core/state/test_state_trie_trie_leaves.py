"""The leaves of tries, in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import EMPTY_ROOT, Trie, keccak256, rlp_encode
from entresol.errors import TrieError

# Some share long prefixes.
KEYS = st.binary(min_size=32, max_size=32) | st.sampled_from(
    [bytes(31) + bytes([it]) for it in range(32)]
)
ENTRIES = st.dictionaries(KEYS, st.integers(1, 2**256 - 1), max_size=50)


def leaf(value: int) -> bytes:
    return rlp_encode(value.to_bytes(32).lstrip(b"\0"))


@given(ENTRIES, st.binary(max_size=32), st.integers(0, 60))
def test_all_leaves_from_a_key_on_come_in_order(
    entries: dict[bytes, int], start: bytes, count: int
) -> None:
    changes = [(key, leaf(value)) for key, value in entries.items()]
    root, nodes = Trie(lambda _: None).update(EMPTY_ROOT, changes)
    found = Trie(dict(nodes).get).slots(root, start, count)
    assert found == sorted(item for item in entries.items() if item[0] >= start)[:count]


def test_a_missing_node_is_named() -> None:
    with pytest.raises(TrieError, match="ab" * 32):
        Trie(lambda _: None).slots(b"\xab" * 32, b"", 1)


@pytest.mark.parametrize(
    "node", [rlp_encode([b"a"] * 3), rlp_encode([b"", b"x"]), rlp_encode(b"x")]
)
def test_what_is_no_node_is_rejected(node: bytes) -> None:
    with pytest.raises(TrieError):
        Trie(lambda _: node).slots(keccak256(node), b"", 1)


@pytest.mark.parametrize(
    ("key", "value"), [(b"key", leaf(1)), (bytes(32), rlp_encode([b"x"])), (bytes(32), b"\x00")]
)
def test_what_is_neither_a_slot_nor_an_account_is_rejected(key: bytes, value: bytes) -> None:
    root, nodes = Trie(lambda _: None).update(EMPTY_ROOT, [(key, value)])
    trie = Trie(dict(nodes).get)
    with pytest.raises(TrieError):
        trie.slots(root, b"", 1)
    with pytest.raises(TrieError):
        trie.accounts(root, b"", 1)
