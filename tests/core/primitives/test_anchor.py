"""The anchor of a fork, from blocks of any chain."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from entresol.errors import MalformedValue
from entresol.primitives.anchor import INITIAL_BASE_FEE, Anchor, header_of_json
from entresol.primitives.headers import EMPTY_TRIE, Header, hash_of_header, number_and_timestamp
from entresol.primitives.values import Hash32

HASH = "0x" + "ab" * 32
SMALLEST: dict[str, Any] = {"number": "0x10", "hash": HASH}


def header(**fields: Any) -> Header:
    return header_of_json(msgspec.json.encode(SMALLEST | fields))


def test_an_anchor_keeps_the_hash_that_the_remote_gives() -> None:
    anchor = Anchor.of_json(7, msgspec.json.encode(SMALLEST | {"timestamp": "0x5"}))
    assert (anchor.number, str(anchor.hash), anchor.header.timestamp) == (16, HASH, 5)
    assert anchor.header.hash() == anchor.hash


def test_an_encoded_anchor_is_the_same() -> None:
    json = msgspec.json.encode(SMALLEST | {"l1BatchNumber": "0x3", "size": 12, "uncles": []})
    anchor = Anchor.of_json(324, json)
    assert Anchor.decode(anchor.encode()) == anchor


def test_a_header_with_a_given_hash_is_read_back_with_it() -> None:
    found = header(timestamp="0x7", extraData="0x01")
    assert Header.decode(found.encode()) == found
    assert hash_of_header(found.encode()) == found.hash() == Hash32.parse(HASH)
    assert number_and_timestamp(found.encode()) == (16, 7)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"stateRoot": None, "miner": None, "nonce": None, "baseFeePerGas": None},
        {"stateRoot": "0x", "logsBloom": "0x00", "extraData": "0x0", "difficulty": "0x" + "f" * 80},
        {"gasLimit": "0xffffffffffffffffff", "timestamp": 12, "gasUsed": "17"},
        {"l1BlockNumber": "0x1", "sendRoot": HASH, "sealFields": [], "transactions": [{"type": 1}]},
        {"mixHash": 3, "number": 16, "timestamp": True, "gasLimit": -1, "extraData": {}},
    ],
)
def test_no_field_of_another_chain_fails(fields: dict[str, Any]) -> None:
    found = header(**fields)
    assert found.number == 16
    assert Header.decode(found.encode()) == found


def test_a_block_without_a_base_fee_has_that_of_a_new_chain() -> None:
    assert header().base_fee_per_gas == INITIAL_BASE_FEE
    assert header(baseFeePerGas="0x0").base_fee_per_gas == 0


def test_blob_gas_is_kept_though_a_field_before_it_is_missing() -> None:
    found = Header.decode(header(excessBlobGas="0x20000").encode())
    assert (found.excess_blob_gas, found.blob_gas_used) == (0x20000, 0)
    assert found.withdrawals_root == EMPTY_TRIE
    assert found.requests_hash is None


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("json", [b"null", b"[]", b"{}", b"x", b"[" * 100_000])
def test_what_is_no_block_is_a_typed_error(json: bytes) -> None:
    with pytest.raises(MalformedValue):
        header_of_json(json)


@pytest.mark.parametrize("name", ["number", "hash"])
def test_a_block_without_number_or_hash_is_a_typed_error(name: str) -> None:
    with pytest.raises(MalformedValue, match=name):
        header(**{name: None})
