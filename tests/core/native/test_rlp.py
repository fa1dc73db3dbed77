"""RLP: every value has one encoding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import rlp as reference
from hypothesis import given
from hypothesis import strategies as st

from entresol import _native
from entresol.errors import MalformedValue

items = st.recursive(st.binary(max_size=70), lambda inner: st.lists(inner, max_size=8))


def again(data: bytes) -> bytes:
    return _native.rlp_encode(_native.rlp_decode(data))


@given(items)
def test_encodings_are_those_of_the_reference_library(item: Any) -> None:
    assert _native.rlp_encode(item) == reference.encode(item)


@given(items, st.data())
def test_damaged_encodings_are_rejected_or_mean_something_else(
    check_mutation: Callable[..., None], item: Any, data: st.DataObject
) -> None:
    check_mutation(_native.rlp_encode(item), again, data)


@pytest.mark.parametrize("size", [0, 1, 55, 56, 255, 256, 65535, 65536, 2**24])
def test_lengths_of_every_width_survive(size: int) -> None:
    assert _native.rlp_decode(_native.rlp_encode(bytes(size))) == bytes(size)


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        ("", "rlp ends before its item at byte 0"),
        ("c28100", "rlp wraps a single byte that encodes itself at byte 1"),
        ("c382ffff82", "rlp has trailing bytes at byte 4"),
    ],
)
def test_other_encodings_are_rejected_with_their_position(encoded: str, reason: str) -> None:
    with pytest.raises(MalformedValue) as caught:
        _native.rlp_decode(bytes.fromhex(encoded))
    assert str(caught.value) == reason


def test_deep_nesting_is_rejected_both_ways() -> None:
    deepest: Any = []
    for _ in range(63):
        deepest = [deepest]
    assert _native.rlp_decode(_native.rlp_encode(deepest)) == deepest
    with pytest.raises(MalformedValue, match="rlp nests deeper than 64 lists"):
        _native.rlp_encode([deepest])
    bomb = b"\xc0"
    for _ in range(2000):
        bomb = reference.codec.length_prefix(len(bomb), 0xC0) + bomb
    with pytest.raises(MalformedValue, match="rlp nests deeper than 64 lists"):
        _native.rlp_decode(bomb)


def test_tuples_and_bytes_of_other_kinds_are_items_too() -> None:
    class Kind(bytes):
        pass

    assert _native.rlp_encode((Kind(b"ab"), ())) == bytes.fromhex("c4826162c0")


@pytest.mark.parametrize("item", [1, None, "text", [1], bytearray(b"a")])
def test_any_other_type_is_rejected(item: Any) -> None:
    with pytest.raises(TypeError, match="an rlp item is bytes or a list"):
        _native.rlp_encode(item)
