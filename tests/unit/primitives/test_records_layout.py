"""The crate finds the fields of a record by the structs that write it."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import msgspec
import pytest

from entresol._native import ReceiptRenderer, RecordLayout, keccak256
from entresol.primitives.headers import Header
from entresol.primitives.l2_to_l1_logs import PACKED_FIELDS, PACKED_SIZE, L2ToL1Log
from entresol.primitives.receipts import Log
from entresol.primitives.records import LAYOUT, VERSION, BlockRecord, TransactionResult
from entresol.primitives.values import Address, Bloom, FixedBytes, Hash32, Nonce8
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
PARTS: dict[str, tuple[str, ...]] = {
    "record": BlockRecord.__struct_fields__,
    "transaction": ("raw", "sender"),
    "result": TransactionResult.__struct_fields__,
    "log": Log.__struct_fields__,
}


def stored(parts: dict[str, tuple[str, ...]], message: dict[str, int]) -> bytes:
    """Return a record whose fields are in another order, or more than there are."""

    def written(part: str, values: dict[str, Any]) -> list[Any]:
        return [values.get(name, [{}, [None], 7, True, b"x"][1:]) for name in parts[part]]

    packed = {
        "shard_id": b"\0",
        "is_service": b"\1",
        "tx_number": b"\0\0",
        "sender": MESSAGE.sender,
        "key": MESSAGE.key,
        "value": MESSAGE.value,
    }
    result = {
        "succeeded": True,
        "gas_used": 21_000,
        "created": None,
        "logs": [written("log", LOG)],
        "l2_to_l1_logs": [b"".join(packed.get(it, bytes(size)) for it, size in message.items())],
    }
    sent = {"raw": SIGNED.raw, "sender": bytes(SIGNED.sender)}
    record = {
        "header_rlp": HEADER.encode(),
        "transactions": [written("transaction", sent)],
        "results": [written("result", result)],
        "changes": [[b"some", [1, 2]]],
        "codes": [b"code"],
        "edits": [],
    }
    return bytes([VERSION]) + msgspec.msgpack.encode(written("record", record))


def layout(parts: dict[str, tuple[str, ...]], message: dict[str, int]) -> RecordLayout:
    return RecordLayout(version=VERSION, **parts, message=tuple(message.items()))


def read(parts: dict[str, tuple[str, ...]], message: dict[str, int]) -> list[Any]:
    """Return everything that the crate reads of a record in this layout."""
    found, data = layout(parts, message), stored(parts, message)
    receipts = ReceiptRenderer(found, deployer=bytes(20), deployed=bytes(32), selectors=[])
    return [
        found.block_summary(data, b"\xff"),
        found.transaction_summary(data, 0),
        found.message_counts(data, 0),
        found.header_json(data),
        found.block_json(data, (1, 2)),
        receipts.render(data, 0, 1, 1),
        receipts.render(data, None, None, 1),
    ]


def test_the_layout_is_that_of_the_structs() -> None:
    expected = read(PARTS, PACKED_FIELDS)
    assert None not in expected
    receipt = json.loads(expected[5])
    assert receipt["transactionHash"] == str(SIGNED.hash)
    assert receipt["logs"][0]["data"] == "0x" + b"data".hex()
    assert receipt["l2ToL1Logs"][0]["value"] == str(MESSAGE.value)
    result = TransactionResult(True, 21_000, None, (tuple(LOG.values()),), (MESSAGE.pack(),))  # type: ignore[arg-type]
    record = BlockRecord(
        HEADER.encode(), ((SIGNED.raw, bytes(SIGNED.sender)),), (result,), (), (b"code",)
    )
    assert LAYOUT.block_json(record.encode(), (1, 2)) == expected[4]
    assert LAYOUT.transaction_summary(record.encode(), 0) == expected[1]


@pytest.mark.parametrize("part", PARTS)
def test_fields_may_be_in_any_order(part: str) -> None:
    expected = read(PARTS, PACKED_FIELDS)
    for names in list(permutations(PARTS[part]))[::7] or [PARTS[part][::-1]]:
        assert read(PARTS | {part: names}, PACKED_FIELDS) == expected


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
        layout(PARTS | {part: names}, PACKED_FIELDS)
    with pytest.raises(ValueError, match="a record has one field"):
        layout(PARTS | {part: PARTS[part] * 2}, PACKED_FIELDS)


def test_a_header_is_written_in_the_order_of_its_struct() -> None:
    values = {
        name: _value(kind, at) for at, (name, kind) in enumerate(_types_of(Header).items(), 1)
    }
    # It precedes the fields.
    del values["given_hash"]
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


def _value(kind: type, at: int) -> Any:
    """Return a value of a field by which its position is known."""
    if issubclass(kind, FixedBytes):
        return kind(bytes([at]) * kind.size)
    return bytes([at]) * 3 if kind is bytes else at


def _types_of(kind: type[Header]) -> dict[str, type]:
    hints = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return {
        name: next(
            (kind for kind in (Hash32, Address, Bloom, Nonce8, int) if _has(hint, kind)), bytes
        )
        for name, hint in hints.items()
    }


def _has(hint: object, kind: type) -> bool:
    return hint is kind or kind in getattr(hint, "__args__", ())
