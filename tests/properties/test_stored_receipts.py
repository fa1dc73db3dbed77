"""The crate renders receipts and blocks from stored records, of all types of transactions."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.errors import EntresolError
from entresol.primitives.headers import Header
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.records import LAYOUT, BlockRecord, TransactionResult
from entresol.primitives.transactions import (
    BlobTransaction,
    LegacyTransaction,
    Paymaster,
    Transaction,
    ZkTransaction,
    load,
    sign,
)
from entresol.primitives.values import Address, Hash32
from entresol.rpc.render.chain_json import (
    CONTRACT_DEPLOYED,
    CONTRACT_DEPLOYER,
    BatchInfo,
    BlockInclusion,
    block_json,
    receipts_json,
    stored_block_json,
    transaction_hashes,
)
from tests.support.chain.dev_chain import deposit, fee_market, transaction
from tests.support.chain.sample_chain import CREATE, SECRETS, payloads
from tests.support.hex_data import hexed

ZK = payloads()["deployment"]
assert isinstance(ZK, ZkTransaction)
CODE = bytes(32)
BLOB = BlobTransaction(
    chain_id=270,
    nonce=0,
    max_priority_fee_per_gas=1,
    max_fee_per_gas=10**9,
    gas_limit=21_000,
    to=Address.zero(),
    max_fee_per_blob_gas=1,
    blob_hashes=(Hash32(b"\1" + bytes(31)), Hash32(b"\1" + bytes(30) + b"\1")),
)
UNSIGNED = [
    LegacyTransaction(gas_price=9, gas_limit=21_000, nonce=0, to=Address.zero()),
    fee_market(0, None, fee=10**9, tip=1),
]
PLAIN = [
    sign(payload, secret)
    for payload, secret in zip(payloads().values(), SECRETS, strict=False)
    if not isinstance(payload, ZkTransaction)
]
SIGNED = [
    *PLAIN,
    sign(ZK, SECRETS[7]),
    sign(
        msgspec.structs.replace(ZK, paymaster=Paymaster(Address(b"\7" * 20), b"input")), SECRETS[7]
    ),
    sign(msgspec.structs.replace(ZK, factory_deps=(CODE,)), SECRETS[7]),
    Transaction.from_l1(deposit(0)),
    Transaction.from_l1(
        msgspec.structs.replace(deposit(1), to=CONTRACT_DEPLOYER, data=CREATE + bytes(96))
    ),
    transaction(0, to=CONTRACT_DEPLOYER),
    transaction(0, to=CONTRACT_DEPLOYER, data=CREATE + bytes(96)),
    load(BLOB.with_signature(bytes([1]) * 64 + b"\0").encode(), Address(b"\3" * 20)),
    *(load(it.encode(), Address(b"\4" * 20)) for it in UNSIGNED),
]
"""A transaction of each type, with and without factory dependencies, paymaster, blobs and signature."""
ADDRESSES = st.binary(min_size=20, max_size=20)
HASHES = st.binary(min_size=32, max_size=32)
LOGS = st.tuples(ADDRESSES, st.lists(HASHES, max_size=4).map(tuple), st.binary(max_size=300))
MESSAGES = st.tuples(
    st.binary(min_size=1, max_size=1), st.booleans(), st.binary(min_size=86, max_size=86)
)
DEPLOYMENTS = st.sampled_from(SIGNED).map(
    lambda it: (
        bytes(CONTRACT_DEPLOYER),
        (CONTRACT_DEPLOYED, it.sender.rjust(32, b"\0"), bytes(32), bytes(12) + b"\xdd" * 20),
        b"",
    )
)
RESULTS = st.builds(
    TransactionResult,
    st.booleans(),
    st.integers(0, 2**40),
    st.none() | ADDRESSES,
    st.lists(LOGS | DEPLOYMENTS, max_size=20).map(tuple),
    st.lists(MESSAGES.map(lambda it: it[0] + bytes([it[1]]) + it[2]), max_size=2).map(tuple),
)
FIELDS: dict[str, Any] = {
    "parent_hash": HASHES.map(Hash32),
    "state_root": HASHES.map(Hash32),
    "number": st.integers(0, 2**40),
    "gas_limit": st.integers(0, 2**40),
    "timestamp": st.integers(0, 2**40),
    "base_fee_per_gas": st.integers(0, 2**64 - 1),
    "extra_data": st.binary(max_size=32),
}
HEADERS = st.builds(Header, **FIELDS) | st.builds(
    Header,
    **FIELDS,
    withdrawals_root=HASHES.map(Hash32),
    blob_gas_used=st.integers(0, 2**20),
    excess_blob_gas=st.integers(0, 2**30),
    parent_beacon_block_root=HASHES.map(Hash32),
    requests_hash=st.none() | HASHES.map(Hash32),
)
BATCHES = st.none() | st.builds(BatchInfo, number=st.integers(0, 2**40), timestamp=st.just(0))


@given(
    header=HEADERS,
    executed=st.lists(st.tuples(st.sampled_from(SIGNED), RESULTS), max_size=20),
    batch=BATCHES,
)
def test_stored_receipts_add_up_to_what_the_block_has(
    header: Header, executed: list[tuple[Transaction, TransactionResult]], batch: BatchInfo | None
) -> None:
    record = BlockRecord(
        header.encode(),
        tuple((it.raw, bytes(it.sender)) for it, _ in executed),
        tuple(result for _, result in executed),
        (),
        (),
    )
    stored = record.encode()
    text = receipts_json(stored, None, batch, 1)
    receipts = json.loads(text)
    logs = messages = 0
    for index, (receipt, consensus) in enumerate(zip(receipts, record.receipts(), strict=True)):
        assert json.loads(receipts_json(stored, index, batch, 1)) == receipt
        (sent, result), number = executed[index], None if batch is None else hex(batch.number)
        assert receipt["transactionHash"] == str(sent.hash)
        assert (receipt["from"], receipt["type"]) == (str(sent.sender), hex(sent.type))
        assert (receipt["blockHash"], receipt["l1BatchNumber"]) == (str(record.hash()), number)
        assert receipt["cumulativeGasUsed"] == hex(consensus.cumulative_gas_used)
        assert receipt["logsBloom"] == str(consensus.bloom)
        assert [
            (log["address"], log["topics"], log["data"], log["logIndex"]) for log in receipt["logs"]
        ] == [
            (str(log.address), list(map(str, log.topics)), hexed(log.data), hex(at))
            for at, log in enumerate(consensus.logs, logs)
        ]
        assert [
            (log["sender"], log["key"], log["value"], log["logIndex"])
            for log in receipt["l2ToL1Logs"]
        ] == [
            (str(log.sender), str(log.key), str(log.value), hex(at))
            for at, log in enumerate(map(L2ToL1Log.unpack, result.l2_to_l1_logs), messages)
        ]
        logs, messages = logs + len(result.logs), messages + len(result.l2_to_l1_logs)
    with pytest.raises(EntresolError):
        receipts_json(stored, len(executed), batch, 1)


@given(header=HEADERS, sent=st.lists(st.sampled_from(SIGNED), max_size=20), batch=BATCHES)
def test_a_stored_block_is_that_of_the_decoded_record(
    header: Header, sent: list[Transaction], batch: BatchInfo | None
) -> None:
    results = tuple(TransactionResult(succeeded=True, gas_used=1) for _ in sent)
    transactions = tuple((it.raw, bytes(it.sender)) for it in sent)
    record = BlockRecord(header.encode(), transactions, results, (), ())
    inclusion = BlockInclusion.of(header, keccak256(record.header_rlp), batch)
    expected = block_json(record, inclusion.hash, inclusion.batch, transaction_hashes(record))
    assert stored_block_json(record.encode(), batch) == expected


HEADER: dict[str, Any] = {
    "parent_hash": Hash32.zero(),
    "state_root": Hash32.zero(),
    "number": 1,
    "gas_limit": 30_000_000,
    "timestamp": 1_000,
    "base_fee_per_gas": 7,
}


def _record(header: Header, raw: bytes, sender: bytes) -> bytes:
    result = TransactionResult(succeeded=True, gas_used=21_000)
    return BlockRecord(header.encode(), ((raw, sender),), (result,), (), ()).encode()


@given(st.data())
def test_a_damaged_record_is_an_error_or_read(data: st.DataObject) -> None:
    signed = SIGNED[0]
    stored = _record(Header(**HEADER), signed.raw, bytes(signed.sender))
    at = data.draw(st.integers(0, len(stored) - 1))
    damaged = stored[:at] + data.draw(st.binary(max_size=3)) + stored[at + 1 :]
    try:
        rendered = receipts_json(damaged, None, None, 1)
    except EntresolError:
        rendered = b""
    assert isinstance(rendered, bytes)
    for read in (LAYOUT.header_json, lambda it: LAYOUT.block_json(it, None)):
        assert isinstance(read(damaged), bytes | None)
