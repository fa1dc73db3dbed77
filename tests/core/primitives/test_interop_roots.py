"""Roots of L1, as a call imports them, and the hash over those of a batch."""

from __future__ import annotations

from eth_abi import packed
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.primitives.interop_roots import InteropRoot, import_call, imported_roots, rolling_hash
from entresol.primitives.values import Hash32

numbers = st.integers(0, 2**256 - 1)
hashes = st.binary(min_size=32, max_size=32).map(Hash32)
roots = st.builds(InteropRoot.of, numbers, numbers, numbers, hashes)


@given(st.lists(roots, max_size=5))
def test_a_call_imports_the_roots_it_was_made_of(found: list[InteropRoot]) -> None:
    assert imported_roots(import_call(found)) == found


def test_another_call_imports_nothing() -> None:
    assert imported_roots(b"\1\2\3\4") == []


@given(st.lists(roots, max_size=3))
def test_the_hash_over_roots_is_that_of_their_packed_words(found: list[InteropRoot]) -> None:
    expected = bytes(32)
    for it in found:
        types = ["bytes32", "uint256", "uint256", "uint256", "bytes32"]
        expected = keccak256(packed.encode_packed(types, [expected, *it[:3], it.root]))
    assert rolling_hash(found) == expected
