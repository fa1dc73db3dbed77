"""Records: the bytes that every node can follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import Account, ReceiptRenderer, RecordLayout, keccak256
from entresol.errors import MalformedValue
from entresol.primitives.headers import FIELDS, Header
from entresol.primitives.l2_to_l1_logs import PACKED_FIELDS, PACKED_SIZE, L2ToL1Log
from entresol.primitives.receipts import Log
from entresol.primitives.records import (
    LAYOUT,
    VERSION,
    BlockRecord,
    StoredAccount,
    StoredChange,
    TransactionResult,
    logs_of,
    stored_account,
    transaction_type,
)
from entresol.primitives.values import Address, Hash32
from tests.support.chain.dev_chain import transaction
from tests.support.chain.records import deposit, transfer
from tests.support.hex_data import word

FIXTURE = Path(__file__).parent / "record-v1.bin"

addresses = st.binary(min_size=20, max_size=20)
hashes = st.binary(min_size=32, max_size=32)
numbers = st.integers(0, 2**256 - 1).map(lambda n: word(n).lstrip(b"\0"))
small = st.integers(0, 2**64 - 1)
accounts = st.builds(StoredAccount, small, numbers, hashes)
changes = st.builds(
    StoredChange,
    addresses,
    st.none() | accounts,
    st.booleans(),
    st.lists(st.tuples(hashes, numbers), max_size=3).map(tuple),
)
logs = st.tuples(addresses, st.lists(hashes, max_size=4).map(tuple), st.binary(max_size=40))
results = st.builds(
    TransactionResult,
    st.booleans(),
    small,
    st.none() | addresses,
    st.lists(logs, max_size=2).map(tuple),
    st.lists(st.binary(min_size=88, max_size=88), max_size=2).map(tuple),
)
executions = st.tuples(st.tuples(st.binary(min_size=1, max_size=300), addresses), results)
records = st.builds(
    lambda header, ran, changed, codes, edits: BlockRecord(
        header, tuple(it[0] for it in ran), tuple(it[1] for it in ran), changed, codes, edits
    ),
    st.binary(max_size=600),
    st.lists(executions, max_size=4),
    st.lists(changes, max_size=4).map(tuple),
    st.lists(st.binary(max_size=40), max_size=3).map(tuple),
    st.lists(changes, max_size=2).map(tuple),
)


def frozen() -> BlockRecord:
    """Return the record whose bytes are checked in; it has every field filled."""
    header = Header(
        parent_hash=Hash32(word(1)),
        beneficiary=Address(b"\xbe" * 20),
        state_root=Hash32(word(2)),
        number=7,
        gas_limit=30_000_000,
        gas_used=142_000,
        timestamp=1_700_000_000,
        extra_data=b"entresol",
        mix_hash=Hash32(word(3)),
        base_fee_per_gas=250_000_000,
    )
    priority, signed = deposit(5, value=10**18), transfer(300, value=2**70)
    status = L2ToL1Log.of_status(0, priority.hash, succeeded=False)
    created = b"\xcc" * 20
    return BlockRecord(
        header.encode(),
        ((priority.raw, bytes(priority.sender)), (signed.raw, bytes(signed.sender))),
        (
            TransactionResult(succeeded=False, gas_used=100_000, l2_to_l1_logs=(status.pack(),)),
            TransactionResult(
                succeeded=True,
                gas_used=42_000,
                created=created,
                logs=((created, (word(1), word(2)), b"data"), (created, (), b"")),
            ),
        ),
        (
            StoredChange(b"\xaa" * 20, None, destroyed=True, slots=()),
            StoredChange(
                created,
                stored_account(Account(1, 2**80, keccak256(b"\x60\x00"))),
                destroyed=False,
                slots=((word(1), b""), (word(2), b"\xff" * 32)),
            ),
        ),
        (b"\x60\x00",),
        (
            StoredChange(
                b"\xed" * 20,
                stored_account(Account(0, 0, keccak256(b""))),
                destroyed=False,
                slots=(),
            ),
        ),
    )


def test_the_bytes_of_version_1_never_change() -> None:
    assert frozen().encode() == FIXTURE.read_bytes()


def test_the_bytes_of_version_1_always_decode() -> None:
    assert BlockRecord.decode(FIXTURE.read_bytes()) == frozen()


@given(records)
def test_records_survive_encoding(record: BlockRecord) -> None:
    assert BlockRecord.decode(record.encode()) == record


@given(records, st.data())
def test_damaged_records_are_rejected_or_are_other_records(
    check_mutation: Callable[..., None], record: BlockRecord, data: st.DataObject
) -> None:
    check_mutation(record.encode(), lambda encoded: BlockRecord.decode(encoded).encode(), data)


def encoded(**parts: object) -> bytes:
    """Return a record's bytes with some parts replaced by anything."""
    fields: dict[str, object] = {
        name: getattr(frozen(), name) for name in BlockRecord.__struct_fields__
    }
    return b"\x01" + msgspec.msgpack.encode([*(fields | parts).values()], enc_hook=bytes)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "version 1 is expected, got $"),
        (b"\x02" + FIXTURE.read_bytes()[1:], "version 1 is expected, got 02"),
        (FIXTURE.read_bytes()[:-1], "truncated"),
        (FIXTURE.read_bytes() + b"\0", "trailing"),
        (encoded(results=()), "2 transactions and 0 results"),
        (encoded(transactions=((b"", b"\1" * 20),)), r"\$\[1\]\[0\]\[0\]"),
        (encoded(transactions=((b"\2", b"\1" * 19),)), r"\$\[1\]\[0\]\[1\]"),
        (encoded(results=((True, -1, None, (), ()),)), r"\$\[2\]\[0\]\[1\]"),
        (encoded(results=((True, 1, None, ((b"\1" * 20, (word(1),) * 5, b""),), ()),)), "length <= 4"),
        (encoded(results=((True, 1, None, (), (b"\0" * 87,)),)), "length >= 88"),
        (encoded(changes=((b"\1" * 20, None, False, ((word(1), b"\1" * 33),)),)), "length <= 32"),
        (encoded(changes=((b"\1" * 20, None, False, (), 5),)), "at most length 4, got 5"),
        (encoded(more=1), "at most length 6, got 7"),
        (FIXTURE.read_bytes().replace(b"\x96\xc5", b"\xdc\0\x06\xc5", 1), "shortest way"),
    ],
)  # fmt: skip
def test_a_malformed_record_is_rejected_with_its_problem(data: bytes, complaint: str) -> None:
    with pytest.raises(MalformedValue, match=complaint):
        BlockRecord.decode(data)


def test_receipts_count_gas_from_the_first_transaction_on() -> None:
    first, second = frozen().receipts()
    assert (first.type, first.succeeded, first.cumulative_gas_used) == (0xFF, False, 100_000)
    assert (second.type, second.succeeded, second.cumulative_gas_used) == (2, True, 142_000)
    assert second.logs == tuple(logs_of(frozen().results[1]))


@pytest.mark.parametrize(
    ("first", "kind"), [(0xC0, 0), (0xF8, 0), (0xFD, 0), (1, 1), (4, 4), (0x71, 0x71), (0x7F, 0x7F), (0xFE, 0xFE), (0xFF, 0xFF)]
)  # fmt: skip
def test_the_first_byte_is_the_type(first: int, kind: int) -> None:
    assert transaction_type(bytes([first])) == kind


@pytest.mark.parametrize("balance", [0, 1, 255, 256, 2**256 - 1])
def test_a_balance_has_no_leading_zeros(balance: int) -> None:
    stored = stored_account(Account(0, balance, bytes(32))).balance
    assert int.from_bytes(stored) == balance
    assert stored[:1] != b"\0"


SIGNED = transaction(0)
HEADER = Header(
    parent_hash=Hash32.zero(),
    state_root=Hash32.zero(),
    number=1,
    gas_limit=30_000_000,
    timestamp=1_000,
    base_fee_per_gas=7,
)
LOG = {"address": b"\xaa" * 20, "topics": (b"\1" * 32, b"\2" * 32), "data": b"data"}
MESSAGE = L2ToL1Log(
    tx_number=0, sender=Address(b"\xbb" * 20), key=Hash32(b"\3" * 32), value=Hash32(b"\4" * 32)
)
MESSAGE_FIELDS = tuple(PACKED_FIELDS.items())
PARTS: dict[str, tuple[str, ...]] = {
    "record": BlockRecord.__struct_fields__,
    "transaction": ("raw", "sender"),
    "result": TransactionResult.__struct_fields__,
    "log": Log.__struct_fields__,
}


def test_the_layout_is_that_of_the_structs() -> None:
    result = TransactionResult(True, 21_000, None, (tuple(LOG.values()),), (MESSAGE.pack(),))  # type: ignore[arg-type]
    sent = (SIGNED.raw, bytes(SIGNED.sender))
    record = BlockRecord(HEADER.encode(), (sent,), (result,), (), (b"code",)).encode()
    renderer = ReceiptRenderer(LAYOUT, deployer=bytes(20), deployed=bytes(32), selectors=[])
    receipt = json.loads(renderer.render(record, 0, 1, 1) or b"")
    assert receipt["transactionHash"] == str(SIGNED.hash)
    assert receipt["logs"][0]["data"] == "0x" + b"data".hex()
    assert receipt["l2ToL1Logs"][0]["value"] == str(MESSAGE.value)
    block = json.loads(LAYOUT.block_json(record, (1, 2)) or b"")
    assert (block["number"], block["transactions"]) == ("0x1", [str(SIGNED.hash)])
    assert LAYOUT.message_counts(record, 0) is not None


def test_the_packed_fields_are_those_of_the_struct() -> None:
    assert tuple(PACKED_FIELDS) == L2ToL1Log.__struct_fields__
    packed, start = MESSAGE.pack(), 0
    assert len(packed) == PACKED_SIZE
    for name, size in PACKED_FIELDS.items():
        value = getattr(MESSAGE, name)
        expected = value if isinstance(value, bytes) else int(value).to_bytes(size)
        assert packed[start : start + size] == expected, name
        start += size


@pytest.mark.parametrize("part", PARTS)
def test_a_field_that_is_missing_is_an_error(part: str) -> None:
    known = {"header_rlp", "raw", "gas_used", "topics"}
    names = tuple(it for it in PARTS[part] if it not in known)
    with pytest.raises(ValueError, match="a record has one field"):
        RecordLayout(version=VERSION, **PARTS | {part: names}, message=MESSAGE_FIELDS)
    with pytest.raises(ValueError, match="a record has one field"):
        RecordLayout(version=VERSION, **PARTS | {part: PARTS[part] * 2}, message=MESSAGE_FIELDS)


def test_a_header_is_written_in_the_order_of_its_struct() -> None:
    values: dict[str, Any] = {
        name: at
        if isinstance(kind, int)
        else bytes([at]) * 3
        if kind is None
        else kind(bytes([at]) * kind.size)
        for at, (name, _, kind) in enumerate(FIELDS, 1)
    }
    # The hash that is given precedes the fields.
    assert (*values, "given_hash") == Header.__struct_fields__
    header = Header(**values)
    written = [int.from_bytes(it) if isinstance(it, bytes) else it for it in header.to_rlp()]
    expected = [
        it if isinstance(it, int) else int.from_bytes(it)
        for it in (getattr(header, name) for name in values)
    ]
    assert written == expected
    assert Header.decode(header.encode()) == header
    hashed = BlockRecord(header.encode(), (), (), (), ())
    shown = json.loads(LAYOUT.block_json(hashed.encode(), None) or b"")
    assert shown["hash"] == "0x" + keccak256(header.encode()).hex()
    assert shown["excessBlobGas"] == hex(header.excess_blob_gas or 0)
    assert shown["miner"] == str(header.beneficiary)
