"""The crate renders receipts from stored records as Python does from decoded ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256, receipts_json
from entresol.primitives.headers import Header
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.transactions import Transaction, ZkTransaction, sign
from entresol.primitives.values import Hash32
from entresol.rpc.render.hex import array
from entresol.rpc.render.receipts import CONTRACT_DEPLOYER, receipt_at, receipts_of
from entresol.rpc.render.transactions import BatchInfo, BlockInclusion
from tests.support.chain.dev_chain import deposit, transaction
from tests.support.chain.sample_chain import SECRETS, payloads

SIGNED = [
    sign(payload, secret)
    for payload, secret in zip(payloads().values(), SECRETS, strict=False)
    if not isinstance(payload, ZkTransaction)
]
ADDRESSES = st.binary(min_size=20, max_size=20)
HASHES = st.binary(min_size=32, max_size=32)
LOGS = st.tuples(ADDRESSES, st.lists(HASHES, max_size=4).map(tuple), st.binary(max_size=300))
MESSAGES = st.tuples(
    st.binary(min_size=1, max_size=1), st.booleans(), st.binary(min_size=86, max_size=86)
)
RESULTS = st.builds(
    TransactionResult,
    st.booleans(),
    st.integers(0, 2**40),
    st.none() | ADDRESSES,
    st.lists(LOGS, max_size=20).map(tuple),
    st.lists(MESSAGES.map(lambda it: it[0] + bytes([it[1]]) + it[2]), max_size=2).map(tuple),
)
HEADERS = st.builds(
    Header,
    parent_hash=HASHES.map(Hash32),
    state_root=HASHES.map(Hash32),
    number=st.integers(0, 2**40),
    gas_limit=st.integers(0, 2**40),
    timestamp=st.integers(0, 2**40),
    base_fee_per_gas=st.integers(0, 2**62),
    extra_data=st.binary(max_size=32),
)
BATCHES = st.none() | st.builds(
    BatchInfo,
    number=st.integers(0, 2**40),
    timestamp=st.just(0),
    first_tx_number=st.integers(0, 2**20),
)


@given(
    header=HEADERS,
    executed=st.lists(st.tuples(st.sampled_from(SIGNED), RESULTS), max_size=20),
    batch=BATCHES,
)
def test_stored_receipts_are_those_of_the_decoded_record(
    header: Header,
    executed: list[tuple[Transaction, TransactionResult]],
    batch: BatchInfo | None,
) -> None:
    record = BlockRecord(
        header.encode(),
        tuple((it.raw, bytes(it.sender)) for it, _ in executed),
        tuple(result for _, result in executed),
        (),
        (),
    )
    inclusion = BlockInclusion.of(header, keccak256(record.header_rlp), batch)
    place = None if batch is None else (batch.number, batch.first_tx_number)
    stored = record.encode()
    expected = array(receipts_of(record, inclusion))
    assert receipts_json(stored, None, place) == expected.encode()
    for index in range(len(executed)):
        expected = receipt_at(record, inclusion, index)
        assert receipts_json(stored, index, place) == expected.encode()
    assert receipts_json(stored, len(executed), place) is None


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


def test_what_only_zksync_knows_is_left_to_python() -> None:
    header = Header(**HEADER)
    zk = payloads()["deployment"]
    assert isinstance(zk, ZkTransaction)
    kinds = [sign(zk, SECRETS[7]), transaction(0, to=CONTRACT_DEPLOYER)]
    stored = [_record(header, it.raw, bytes(it.sender)) for it in kinds]
    priority = deposit(0)
    stored.append(_record(header, priority.encode(), bytes(priority.sender)))
    with_blobs = Header(
        **HEADER, withdrawals_root=Hash32.zero(), blob_gas_used=0, excess_blob_gas=0
    )
    plain = SIGNED[0]
    stored.append(_record(with_blobs, plain.raw, bytes(plain.sender)))
    assert [receipts_json(it, None, None) for it in stored] == [None] * 4


@given(st.data())
def test_a_damaged_record_is_left_to_python_or_read(data: st.DataObject) -> None:
    signed = SIGNED[0]
    stored = _record(Header(**HEADER), signed.raw, bytes(signed.sender))
    at = data.draw(st.integers(0, len(stored) - 1))
    damaged = stored[:at] + data.draw(st.binary(max_size=3)) + stored[at + 1 :]
    assert isinstance(receipts_json(damaged, None, None), bytes | None)
