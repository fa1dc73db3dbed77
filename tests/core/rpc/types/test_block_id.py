"""Naming a block."""

from __future__ import annotations

import pytest

from entresol.chain.finality import BlockTag
from entresol.errors import MalformedValue
from entresol.primitives.values import Hash32
from entresol.rpc.types.block_id import LATEST, BlockId, BlockNumber

HASH = Hash32(bytes(range(32)))


@pytest.mark.parametrize("tag", list(BlockTag))
def test_a_block_has_a_tag(tag: BlockTag) -> None:
    assert BlockId.parse(str(tag)) == BlockId(tag=tag)
    assert BlockId.parse({"blockNumber": str(tag)}).tag is tag
    assert type(BlockNumber.parse(str(tag))) is BlockNumber


@pytest.mark.parametrize(("text", "number"), [("0x0", 0), ("0x0a", 10), ("10", 10), (10, 10), (0, 0), ("f" * 16, 2**64 - 1)])  # fmt: skip
def test_a_block_has_a_number(text: object, number: int) -> None:
    assert BlockId.parse(text).number == number
    assert BlockNumber.parse(text).number == number
    assert BlockId.parse({"blockNumber": text, "blockHash": None}).number == number


@pytest.mark.parametrize("canonical", [None, False, True])
def test_a_block_has_a_hash(canonical: bool | None) -> None:
    found = BlockId.parse({"blockHash": str(HASH), "requireCanonical": canonical})
    assert found == BlockId(block_hash=HASH, require_canonical=bool(canonical))
    assert BlockId.parse(str(HASH)).block_hash == HASH
    assert BlockId.parse(HASH.hex()).block_hash == HASH


@pytest.mark.parametrize(
    "value",
    [
        None, -1, 2**64, 1.0, True, [], "", "0x", "Latest", "0x" + "1" * 17, "0x" + "1" * 63, {},
        {"blockNumber": True}, {"blockNumber": str(HASH)}, {"blockHash": "0x1"}, {"blockHash": 1},
        {"blockHash": str(HASH), "blockNumber": "0x1"},
        {"blockHash": str(HASH), "requireCanonical": "yes"},
    ],
)  # fmt: skip
def test_anything_else_names_no_block(value: object) -> None:
    with pytest.raises(MalformedValue):
        BlockId.parse(value)


@pytest.mark.parametrize("value", [str(HASH), {"blockNumber": "0x1"}])
def test_a_block_number_parameter_accepts_nothing_else(value: object) -> None:
    with pytest.raises(MalformedValue):
        BlockNumber.parse(value)


def test_references_are_values() -> None:
    assert {BlockId.parse("latest"): 1}[LATEST] == 1
    assert BlockId.parse("0x01") != LATEST
    assert str(BlockId.parse("0x01")) == "0x1"
    assert repr(LATEST) == "BlockId(latest)"
