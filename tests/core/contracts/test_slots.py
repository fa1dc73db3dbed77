"""Variables given by name become the slots that the contract's own code reads."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.contracts import Artifact, Variable
from entresol.contracts.slots import storage_of, text_in
from entresol.primitives.values import Data, Hash32
from tests.support.hex_data import word


def contract(*variables: tuple[str, int, int, str]) -> Artifact:
    """Return a contract with these variables and nothing else."""
    return Artifact(
        name="Box",
        source="Box.sol",
        source_hash=Hash32.zero(),
        compiler="",
        evm_version="cancun",
        abi=[],
        storage_layout=[
            Variable(label=label, slot=slot, offset=offset, type=kind)
            for label, slot, offset, kind in variables
        ],
        immutables={},
        bytecode=Data(),
        runtime=Data(),
    )


BOX = contract(
    ("count", 0, 0, "uint256"),
    ("owner", 1, 0, "address"),
    ("open", 1, 20, "bool"),
    ("names", 2, 0, "mapping(address => bytes32)"),
    ("text", 3, 0, "string"),
    ("data", 4, 0, "bytes"),
    ("nested", 5, 0, "mapping(address => mapping(address => uint256))"),
    ("list", 6, 0, "uint256[]"),
)
OWNER = bytes([0xAB] * 20)


def test_a_word_lies_in_the_slot_of_its_variable() -> None:
    assert storage_of(BOX, {"count": 7}) == {word(0): word(7)}


def test_variables_that_share_a_slot_are_packed() -> None:
    packed = Hash32(bytes(11) + b"\x01" + OWNER)
    assert storage_of(BOX, {"owner": OWNER, "open": 1}) == {word(1): packed}


def test_an_entry_of_a_mapping_lies_in_a_slot_of_its_own() -> None:
    slot = Hash32(keccak256(OWNER.rjust(32, b"\0") + word(2)))
    value = Hash32(b"\x99" * 32)
    assert storage_of(BOX, {"names": {OWNER: value}}) == {slot: value}


def test_a_mapping_may_lead_to_mappings() -> None:
    outer = keccak256(OWNER.rjust(32, b"\0") + word(5))
    slot = Hash32(keccak256(word(3) + outer))
    assert storage_of(BOX, {"nested": {OWNER: {3: 8}}}) == {slot: word(8)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", 1),
        ("data", 1),
        ("names", 1),
        ("list", 1),
        ("count", {1: 1}),
        ("nested", {OWNER: 1}),
    ],
)
def test_a_value_of_another_kind_is_rejected(
    name: str, value: int | dict[int | bytes, int | bytes]
) -> None:
    with pytest.raises(ValueError, match=f"{name} is a "):
        storage_of(BOX, {name: value})


def test_a_variable_that_does_not_exist_is_rejected() -> None:
    with pytest.raises(ValueError, match="Box has no variable size"):
        storage_of(BOX, {"size": 1})


@pytest.mark.parametrize("text", ["", "Ether", "é" * 15, "x" * 31, "x" * 32, "é" * 64, "x" * 129])
def test_a_text_is_read_from_the_slots_that_it_was_written_to(text: str) -> None:
    storage = storage_of(BOX, {"text": text})

    assert text_in(BOX, "text", storage) == text
    assert len(storage) == (1 if len(text.encode()) < 32 else 1 + -(-len(text.encode()) // 32))


def test_slots_that_claim_more_text_than_they_have_are_read_as_far_as_they_go() -> None:
    assert len(text_in(BOX, "text", {word(3): word(2**256 - 1)})) <= 32


def test_slots_without_a_text_hold_an_empty_one() -> None:
    assert text_in(BOX, "text", {}) == ""
