"""The leaves of tries, in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import EMPTY_ROOT, Trie, rlp_encode
from entresol.errors import MissingNode, TrieError
from entresol.state.state_trie import leaves

# Some share long prefixes, and short values make nodes that are part of their parents.
KEYS = st.binary(min_size=4, max_size=4) | st.sampled_from(
    [bytes([0, 0, 0, it]) for it in range(32)]
)
ENTRIES = st.dictionaries(KEYS, st.binary(min_size=1, max_size=40), max_size=50)


@given(ENTRIES, st.binary(max_size=4))
def test_all_leaves_from_a_key_on_come_in_order(entries: dict[bytes, bytes], start: bytes) -> None:
    root, nodes = Trie(lambda _: None).update(EMPTY_ROOT, entries.items())
    found = list(leaves(dict(nodes).get, root, start))
    assert found == sorted(it for it in entries.items() if it[0] >= start)


def test_a_missing_node_is_named() -> None:
    with pytest.raises(MissingNode, match="ab" * 32):
        list(leaves(lambda _: None, b"\xab" * 32))


@pytest.mark.parametrize(
    "node", [rlp_encode([b"a"] * 3), rlp_encode([b"", b"x"]), rlp_encode(b"x")]
)
def test_what_is_no_node_is_rejected(node: bytes) -> None:
    with pytest.raises(TrieError):
        list(leaves(lambda _: node, b"\xab" * 32))
