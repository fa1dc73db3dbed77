"""The ABI, held against the common library for it."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi.abi import encode as encode_by_library
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import MalformedValue
from entresol.primitives import abi

WORDS: dict[str, st.SearchStrategy[Any]] = {
    "uint256": st.integers(0, 2**256 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "uint8": st.integers(0, 255),
    "bytes32": st.binary(min_size=32, max_size=32),
    "bytes4": st.binary(min_size=4, max_size=4),
    "address": st.binary(min_size=20, max_size=20),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=70),
    "string": st.text(max_size=20),
}


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 2) -> tuple[str, Any]:
    """Return a type and a value of it."""
    kind = draw(st.sampled_from(["word", "array", "fixed", "tuple"] if depth else ["word"]))
    if kind == "word":
        name = draw(st.sampled_from(sorted(WORDS)))
        return name, draw(WORDS[name])
    if kind == "tuple":
        items = [draw(typed_values(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
        return "(" + ",".join(it for it, _ in items) + ")", tuple(value for _, value in items)
    name, value = draw(typed_values(depth - 1))
    count = draw(st.integers(1, 3))
    return f"{name}[{'' if kind == 'array' else count}]", (value,) * count


def as_library(kind: str, value: Any) -> Any:
    """Return a value as the library takes it: addresses are text."""
    if kind.endswith("]"):
        return tuple(as_library(kind[: kind.rindex("[")], item) for item in value)
    if kind.startswith("("):
        kinds = abi._split(kind[1:-1])
        return tuple(as_library(each, item) for each, item in zip(kinds, value, strict=True))
    return "0x" + value.hex() if kind == "address" else value


@given(st.lists(typed_values(), max_size=4))
def test_encodings_are_those_of_the_library_and_are_read_back(items: list[tuple[str, Any]]) -> None:
    kinds, values = [kind for kind, _ in items], tuple(value for _, value in items)
    types = "(" + ",".join(kinds) + ")"
    expected = encode_by_library(
        kinds, [as_library(kind, value) for kind, value in zip(kinds, values, strict=True)]
    )
    encoded = abi.encode(types, values)
    assert encoded == expected
    assert abi.decode(types, encoded) == values


@given(st.lists(typed_values(), min_size=1, max_size=3), st.data())
def test_bytes_that_are_cut_off_are_rejected_or_read_as_something(
    items: list[tuple[str, Any]], data: st.DataObject
) -> None:
    types = "(" + ",".join(kind for kind, _ in items) + ")"
    encoded = abi.encode(types, [value for _, value in items])
    cut = encoded[: data.draw(st.integers(0, len(encoded) - 1))]
    try:
        abi.decode(types, cut)
    except MalformedValue:
        return
    # Only padding is not looked at.
    assert not any(encoded[len(cut) :])


def test_a_length_that_the_bytes_do_not_have_is_rejected_at_once() -> None:
    claim = abi.encode("(uint256,uint256)", (32, 2**250))
    with pytest.raises(MalformedValue):
        abi.decode("(uint256[])", claim)


@pytest.mark.parametrize(
    ("types", "values"),
    [
        ("(uint8)", (256,)),
        ("(uint256)", (-1,)),
        ("(address)", (b"\1" * 19,)),
        ("(bytes32)", (b"\1" * 33,)),
        ("(uint8,uint8)", (1,)),
        ("(float)", (1.0,)),
    ],
)
def test_values_that_do_not_fit_are_rejected(types: str, values: tuple[Any, ...]) -> None:
    with pytest.raises(MalformedValue):
        abi.encode(types, values)


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


def test_a_call_is_the_selector_and_the_arguments() -> None:
    call = abi.encode_call("withdraw(address)", b"\x11" * 20)
    assert call.hex() == "51cff8d9" + "00" * 12 + "11" * 20
