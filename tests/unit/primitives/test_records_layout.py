"""The crate finds the fields of a record by the structs that write it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from entresol._native import ReceiptRenderer, RecordLayout, keccak256
from entresol.primitives.headers import FIELDS, Header
from entresol.primitives.l2_to_l1_logs import PACKED_FIELDS, PACKED_SIZE, L2ToL1Log
from entresol.primitives.receipts import Log
from entresol.primitives.records import LAYOUT, VERSION, BlockRecord, TransactionResult
from entresol.primitives.values import Address, Hash32
from tests.support.chain.dev_chain import transaction

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
