"""Receipts in their consensus encoding."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import rlp as reference
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives.receipts import Log, Receipt, bloom_of
from entresol.primitives.values import Address, Hash32

logs = st.builds(
    Log,
    address=st.binary(min_size=20, max_size=20).map(Address),
    topics=st.lists(st.binary(min_size=32, max_size=32).map(Hash32), max_size=4).map(tuple),
    data=st.binary(max_size=40),
)
receipts = st.builds(
    Receipt.of,
    st.sampled_from([0, 1, 2, 4, 0x71, 0x7E, 0x7F, 0xFE, 0xFF]),
    succeeded=st.booleans(),
    cumulative_gas_used=st.integers(0, 2**64 - 1),
    logs=st.lists(logs, max_size=3).map(tuple),
)


@given(receipts)
def test_receipts_survive_a_round_trip(receipt: Receipt) -> None:
    assert Receipt.decode(receipt.encode()) == receipt
    assert receipt.bloom == bloom_of(receipt.logs)


@given(receipts, st.data())
def test_damaged_receipts_are_rejected_or_are_other_receipts(
    check_mutation: Callable[..., None], receipt: Receipt, data: st.DataObject
) -> None:
    check_mutation(receipt.encode(), lambda encoded: Receipt.decode(encoded).encode(), data)


def test_a_legacy_receipt_is_a_bare_list() -> None:
    receipt = Receipt.of(0, succeeded=True, cumulative_gas_used=21_000, logs=())
    assert receipt.encode() == reference.encode([b"\x01", b"\x52\x08", bytes(256), []])


def test_another_receipt_starts_with_its_type() -> None:
    receipt = Receipt.of(0xFF, succeeded=False, cumulative_gas_used=0, logs=())
    assert receipt.encode() == b"\xff" + reference.encode([b"", b"", bytes(256), []])


@pytest.mark.parametrize(
    ("encoded", "problem"),
    [
        (b"", "a receipt is not empty"),
        (b"\x02", "rlp ends before its item"),
        (b"\x02\xc0", "a receipt has 4 items, got 0"),
        (b"\xc0", "a receipt has 4 items, got 0"),
        (b"\x80", "a receipt is an rlp list"),
        (b"\x00\xc0", "rlp has trailing bytes"),
        (rlp_encode([b"\2", b"", bytes(256), []]), "status: a status is 0 or 1, got 2"),
        (rlp_encode([b"", b"\1" * 9, bytes(256), []]), "cumulativeGasUsed: integer is at most"),
        (rlp_encode([b"", b"", b"", []]), "logsBloom: a bloom is 256 bytes, got 0"),
        (rlp_encode([b"", b"", bytes(256), b""]), "logs: a list is expected"),
        (rlp_encode([b"", b"", bytes(256), [b""]]), r"logs\[0\]: a list is expected"),
    ],
)
def test_other_bytes_are_no_receipt(encoded: bytes, problem: str) -> None:
    with pytest.raises(MalformedValue, match=problem):
        Receipt.decode(encoded)
