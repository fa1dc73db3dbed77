"""Bodies of blocks that the recorded remote does not have: withdrawals, uncles and blobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from entresol._native import keccak256, ordered_root, rlp_decode, rlp_encode
from entresol.errors import RemoteLied, Unprovable
from entresol.features.fork.verify.proven_block import (
    ProvenBlock,
    hashed_header,
    proven_block,
    uncle_count,
)
from entresol.features.fork.verify.proven_header import HashedHeader, Told
from entresol.primitives.headers import EMPTY_OMMERS, EMPTY_TRIE
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import BlobTransaction, LegacyTransaction, sign
from entresol.primitives.values import Address, Hash32

TOLD = Told("http://remote", "eth_getBlockByHash")
SECRET = b"\x01" * 32
WITHDRAWAL = {"index": "0x7", "validatorIndex": "0x1", "address": "0x" + "ab" * 20, "amount": "0x9"}


def header(**members: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "parentHash": "0x" + "01" * 32,
        "sha3Uncles": str(EMPTY_OMMERS),
        "miner": "0x" + "02" * 20,
        "stateRoot": "0x" + "03" * 32,
        "transactionsRoot": str(EMPTY_TRIE),
        "receiptsRoot": str(EMPTY_TRIE),
        "logsBloom": "0x" + "00" * 256,
        "difficulty": "0x1",
        "number": "0x5",
        "gasLimit": "0x1000000",
        "gasUsed": "0x0",
        "timestamp": "0x64",
        "extraData": "0x",
        "mixHash": "0x" + "04" * 32,
        "nonce": "0x" + "05" * 8,
        **members,
    }
    return {"hash": str(HashedHeader.of(fields).hash), "transactions": [], "uncles": [], **fields}


def proven(fields: dict[str, Any], uncles: list[HashedHeader] | None = None) -> ProvenBlock:
    return proven_block(TOLD, hashed_header(TOLD, fields), fields, uncles or [])


def with_withdrawals() -> dict[str, Any]:
    items = [encode_uint(7), encode_uint(1), b"\xab" * 20, encode_uint(9)]
    root = "0x" + ordered_root([rlp_encode(items)]).hex()
    return header(baseFeePerGas="0x7", withdrawalsRoot=root) | {"withdrawals": [WITHDRAWAL]}


def with_blobs() -> dict[str, Any]:
    payload = BlobTransaction(
        chain_id=1,
        nonce=0,
        gas_limit=21_000,
        to=Address(b"\x01" * 20),
        max_fee_per_gas=100,
        max_priority_fee_per_gas=2,
        max_fee_per_blob_gas=3,
        blob_hashes=(Hash32(b"\x01" * 32),),
    )
    signed = sign(payload, SECRET)
    sent = signed.payload
    assert isinstance(sent, BlobTransaction)
    root = "0x" + ordered_root([sent.encode()]).hex()
    fields = header(baseFeePerGas="0x7", transactionsRoot=root)
    transaction = {
        "type": "0x3",
        "hash": str(Hash32(keccak256(sent.encode()))),
        "chainId": "0x1",
        "nonce": "0x0",
        "gas": "0x5208",
        "to": "0x" + "01" * 20,
        "value": "0x0",
        "input": "0x",
        "accessList": [],
        "maxFeePerGas": "0x64",
        "maxPriorityFeePerGas": "0x2",
        "gasPrice": "0x9",
        "maxFeePerBlobGas": "0x3",
        "blobVersionedHashes": ["0x" + "01" * 32],
        "yParity": hex(sent.y_parity),
        "v": hex(sent.y_parity),
        "r": hex(sent.r),
        "s": hex(sent.s),
        "from": str(signed.sender),
        "blockHash": fields["hash"],
        "blockNumber": "0x5",
        "transactionIndex": "0x0",
    }
    return fields | {"transactions": [transaction]}


def test_withdrawals_have_the_root_of_the_header() -> None:
    assert proven(with_withdrawals()).json(with_transactions=False)["withdrawals"] == [WITHDRAWAL]


@pytest.mark.parametrize("name", WITHDRAWAL)
def test_a_false_withdrawal_is_a_lie(name: str) -> None:
    false = WITHDRAWAL | {name: WITHDRAWAL[name][:-1] + "2"}
    with pytest.raises(RemoteLied, match="withdrawals do not have the root"):
        proven(with_withdrawals() | {"withdrawals": [false]})
    with pytest.raises(RemoteLied, match="withdrawals"):
        proven(with_withdrawals() | {"withdrawals": None})


def test_a_transaction_with_blobs_is_proven_as_blocks_have_it() -> None:
    (found,) = proven(with_blobs()).transactions
    assert found.json["blobVersionedHashes"] == ["0x" + "01" * 32]


@pytest.mark.parametrize("name", with_blobs()["transactions"][0])
def test_each_member_of_a_transaction_with_blobs_is_proven(name: str) -> None:
    block = with_blobs()
    (true,) = block["transactions"]
    value = true[name]
    changed = [] if name == "blobVersionedHashes" else [{"address": "0x", "storageKeys": []}]
    false = value[:-1] + ("1" if value[-1] != "1" else "2") if isinstance(value, str) else changed
    with pytest.raises((RemoteLied, Unprovable)):
        proven(block | {"transactions": [true | {name: false}]})


def test_a_header_before_london_has_fifteen_fields() -> None:
    fields = header()
    assert len(rlp_decode(hashed_header(TOLD, fields).encoded)) == 15
    assert proven(fields).json(with_transactions=True)["hash"] == fields["hash"]


def test_uncles_have_the_hash_that_the_header_has() -> None:
    uncle = HashedHeader.of(header(number="0x4"))
    named = "0x" + keccak256(rlp_encode([rlp_decode(uncle.encoded)])).hex()
    fields = header(sha3Uncles=named) | {"uncles": [str(uncle.hash)]}
    assert uncle_count(TOLD, hashed_header(TOLD, fields), fields) == 1
    assert proven(fields, [uncle]).json(with_transactions=False)["uncles"] == [str(uncle.hash)]
    other = HashedHeader.of(header(number="0x3"))
    with pytest.raises(RemoteLied, match="uncles are not those"):
        proven(fields, [other])
    with pytest.raises(RemoteLied, match="uncles"):
        proven(fields | {"uncles": ["0x" + "09" * 32]}, [uncle])
    for count in ([], ["0x"] * 3, "0x"):
        with pytest.raises(RemoteLied, match="uncles are not those"):
            uncle_count(TOLD, hashed_header(TOLD, fields), fields | {"uncles": count})


def unsigned() -> dict[str, Any]:
    payload = LegacyTransaction(nonce=0, gas_limit=21_000, gas_price=9, to=Address(b"\x01" * 20))
    root = "0x" + ordered_root([payload.encode()]).hex()
    transaction = {
        "type": "0x0", "nonce": "0x0", "gas": "0x5208", "gasPrice": "0x9", "to": "0x" + "01" * 20,
        "value": "0x0", "input": "0x", "v": "0x1b", "r": "0x0", "s": "0x0", "from": "0x" + "07" * 20,
    }  # fmt: skip
    return header(transactionsRoot=root) | {"transactions": [transaction]}


def of_another_chain() -> dict[str, Any]:
    return header() | {"transactions": [{"type": "0x7e", "hash": "0x" + "01" * 32}]}


@pytest.mark.parametrize("block", [unsigned, of_another_chain])
def test_a_transaction_that_nobody_signed_or_that_only_its_chain_encodes_is_named(
    block: Callable[[], dict[str, Any]],
) -> None:
    with pytest.raises(Unprovable, match=r"no signature|type 0x7e, a deposit"):
        proven(block())


def test_the_encoding_of_a_block_has_its_transactions_as_they_were_sent() -> None:
    block = proven(with_blobs())
    item = rlp_decode(block.encoded())
    assert item[1] == [block.transactions[0].raw]


def test_too_many_transactions_are_no_block() -> None:
    with pytest.raises(RemoteLied, match="up to 50000 transactions"):
        proven(header() | {"transactions": [{}] * 50_001})
