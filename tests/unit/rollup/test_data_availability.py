"""What a commit says of a batch's data, in the layout that the contract checks."""

from __future__ import annotations

from entresol._native import keccak256
from entresol.rollup.data_availability import calldata_commitment, calldata_input

DATA = b"published"


def test_the_commitment_to_calldata_is_the_hash_of_the_header_before_it() -> None:
    header = bytes(32) + keccak256(DATA) + b"\x01" + bytes(32)
    assert calldata_commitment(DATA) == keccak256(header)


def test_the_input_is_the_header_and_then_the_data_between_where_it_is_and_no_blob() -> None:
    found = calldata_input(DATA)
    assert keccak256(found[:97]) == calldata_commitment(DATA)
    assert found[97:] == b"\0" + DATA + bytes(32)
