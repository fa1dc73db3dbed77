"""The ABI, held against the common library for it."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi.abi import decode as decode_by_library
from eth_abi.abi import encode as encode_by_library
from eth_abi.exceptions import DecodingError
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import MalformedValue
from entresol.primitives import abi

WORDS: dict[str, st.SearchStrategy[Any]] = {
    "uint256": st.integers(0, 2**256 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "uint8": st.integers(0, 255),
    "int256": st.integers(-(2**255), 2**255 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "int8": st.integers(-128, 127),
    "bytes32": st.binary(min_size=32, max_size=32),
    "bytes4": st.binary(min_size=4, max_size=4),
    "address": st.binary(min_size=20, max_size=20),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=70),
    "string": st.text(max_size=20),
}

Typed = tuple[str, Any, Any]
"""A type, a value of it, and the value as the library takes it: addresses are text there."""


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 2) -> Typed:
    kind = draw(st.sampled_from(["word", "array", "fixed", "tuple"] if depth else ["word"]))
    if kind == "word":
        name = draw(st.sampled_from(sorted(WORDS)))
        value = draw(WORDS[name])
        return name, value, "0x" + value.hex() if name == "address" else value
    if kind == "tuple":
        items = draw(st.lists(typed_values(depth - 1), min_size=1, max_size=3))
        return together(items)
    name, value, theirs = draw(typed_values(depth - 1))
    count = draw(st.integers(1, 3))
    return f"{name}[{'' if kind == 'array' else count}]", (value,) * count, (theirs,) * count


def together(items: list[Typed]) -> Typed:
    """Return several values as one tuple."""
    kinds = ",".join(kind for kind, _, _ in items)
    return (
        f"({kinds})",
        tuple(ours for _, ours, _ in items),
        tuple(theirs for _, _, theirs in items),
    )


@given(st.lists(typed_values(), max_size=4))
def test_encodings_are_those_of_the_library_and_are_decoded_again(items: list[Typed]) -> None:
    types, values, _ = together(items)
    expected = encode_by_library([kind for kind, _, _ in items], [it for _, _, it in items])
    assert abi.encode(types, values) == expected
    assert abi.encode(types, list(values)) == expected
    assert abi.decode(types, expected) == values


@given(st.lists(typed_values(), min_size=1, max_size=3), st.data())
def test_truncated_bytes_are_rejected_or_lack_padding_only(
    items: list[Typed], data: st.DataObject
) -> None:
    types, values, _ = together(items)
    encoded = abi.encode(types, values)
    cut = encoded[: data.draw(st.integers(0, len(encoded) - 1))]
    try:
        abi.decode(types, cut)
    except MalformedValue:
        return
    # Only padding is not looked at.
    assert not any(encoded[len(cut) :])


@given(st.lists(typed_values(), min_size=1, max_size=3), st.data())
def test_damaged_bytes_are_rejected_or_decoded_as_the_library_does(
    items: list[Typed], data: st.DataObject
) -> None:
    types, values, _ = together(items)
    encoded = bytearray(abi.encode(types, values))
    lengths = [0, 1, 31, 32, 33, len(encoded), 2**31, 2**63, 2**64 - 32, 2**64, 2**255, 2**256 - 1]
    for _ in range(data.draw(st.integers(1, 3))):
        start = 32 * data.draw(st.integers(0, len(encoded) // 32 - 1))
        encoded[start : start + 32] = data.draw(st.sampled_from(lengths)).to_bytes(32)
    try:
        decoded = abi.decode(types, bytes(encoded))
    except MalformedValue:
        return
    kinds = [kind for kind, _, _ in items]
    try:
        expected = decode_by_library(kinds, bytes(encoded))
    except (DecodingError, OverflowError, UnicodeDecodeError):
        return  # The library also checks padding and the sizes of numbers.
    assert abi.encode(types, decoded) == encode_by_library(kinds, expected)


@pytest.mark.parametrize("count", [2, 2**31, 2**63, 2**64 - 1, 2**250])
def test_a_length_that_the_bytes_do_not_have_is_rejected_at_once(count: int) -> None:
    claim = abi.encode("(uint256,uint256)", (32, count))
    for types in ("(uint256[])", "(bytes)", "(string)", "(bytes[])", "((uint8,bool)[])"):
        with pytest.raises(MalformedValue, match=r"values\[0\]"):
            abi.decode(types, claim)


def test_contents_may_overlap_but_not_until_they_are_the_square_of_the_input() -> None:
    def overlapping(items: int) -> bytes:
        """Return an array whose items are all one and the same."""
        content = bytes(32 * items)
        words = [32, items, *[32 * items] * items, len(content)]
        return b"".join(word.to_bytes(32) for word in words) + content

    assert abi.decode("(bytes[])", overlapping(16)) == ((bytes(512),) * 16,)
    with pytest.raises(MalformedValue, match="overlap too often"):
        abi.decode("(bytes[])", overlapping(2_000))


@pytest.mark.parametrize(
    ("types", "values", "problem"),
    [("(uint8)", (256,), "values[0]: 0x100 does not fit uint8"), ("(int8)", (128,), "values[0]: 0x80 does not fit int8"), ("(uint8)", ("1",), "values[0]: an int expected, got str"), ("(bool)", (1,), "values[0]: a bool expected, got int"), ("(address)", (b"\1" * 19,), "values[0]: 20 bytes expected, got 19"), ("(address)", ("0x" + "11" * 20,), "values[0]: bytes expected, got str"), ("(bytes32)", (b"\1" * 33,), "values[0]: 32 bytes expected, got 33"), ("(string)", (b"text",), "values[0]: a str expected, got bytes"), ("(uint8,uint8)", (1,), "2 values expected, got 1"), ("(uint8[2])", ([1],), "values[0]: 2 values expected, got 1"), ("(uint8[])", (5,), "values[0]: a list or a tuple expected, got int"), ("(bool,(uint8,bytes4[])[])", (True, [(1, []), (2, [b"1234", b"5"])]),
         "values[1][1][1][1]: 4 bytes expected, got 1")],
)  # fmt: skip
def test_a_value_that_its_type_does_not_have_is_named(
    types: str, values: tuple[Any, ...], problem: str
) -> None:
    with pytest.raises(MalformedValue) as rejection:
        abi.encode(types, values)
    assert str(rejection.value) == problem


@pytest.mark.parametrize("types", ["(uint7)", "(bytes33)", "(uint8", "", "(()[])", "(" * 10_000])
def test_what_is_no_type_is_rejected(types: str) -> None:
    for work in (lambda: abi.encode(types, ()), lambda: abi.decode(types, b"")):
        with pytest.raises(MalformedValue, match=r"ABI type|without any value"):
            work()


def test_text_that_is_no_utf_8_is_decoded_with_replacements() -> None:
    encoded = abi.encode("(bytes)", (b"a\xff\xe2\x82b",))
    assert abi.decode("(string)", encoded) == (
        "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b",
    )
    with pytest.raises(MalformedValue, match=r"values\[0\]"):
        abi.encode("(string)", ("\ud800",))


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("sendToL1(bytes)", "62f84b24"),
        ("withdraw(address)", "51cff8d9"),
        ("l2TransactionBaseCost(uint256,uint256,uint256,uint256)", "71623274"),
    ],
)
def test_selectors_are_those_of_the_network(signature: str, expected: str) -> None:
    assert abi.selector(signature).hex() == expected
