"""Transactions from L1: the canonical tuple, its hash and the storage encoding."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from eth_abi.abi import encode as abi_encode
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import rlp_encode
from entresol.errors import MalformedTransaction
from entresol.primitives.transactions import PriorityTransaction, Transaction, load
from entresol.primitives.values import Address, Hash32

ALICE = Address.parse("0x357fe6c9f85dc429596577cf2e7a191f60b6865b")
TUPLE = (
    "(uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,"
    "uint256[4],bytes,bytes,uint256[],bytes,bytes)"
)

words = st.integers(0, 2**256 - 1)
addresses = st.binary(min_size=20, max_size=20).map(Address)
hashes = st.binary(min_size=32, max_size=32).map(Hash32)
payloads = st.builds(
    PriorityTransaction,
    type=st.sampled_from([0xFF, 0xFE, 0x7F, 0x7E]),
    sender=addresses,
    to=addresses,
    gas_limit=words,
    gas_per_pubdata_limit=words,
    max_fee_per_gas=words,
    nonce=words,
    value=words,
    to_mint=words,
    refund_recipient=addresses,
    data=st.binary(max_size=70),
    factory_dep_hashes=st.lists(hashes, max_size=3).map(tuple),
    factory_deps=st.lists(st.binary(max_size=70), max_size=3).map(tuple),
)


def deposit(kind: int = 0xFF) -> PriorityTransaction:
    return PriorityTransaction(
        type=kind,
        sender=ALICE,
        to=ALICE,
        refund_recipient=ALICE,
        gas_limit=0x493E0,
        gas_per_pubdata_limit=800,
        max_fee_per_gas=0xEE6FCF4,
        nonce=1,
        value=0x32,
        to_mint=0x4B08A6610E32,
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (127, "0x4164624346d4c915977debf68dbd721f8ae86b964080925aecf6911dd47a6ece"),
        (255, "0x5c4e71880573bb8c78b760f7803f2b30cbe144fa36c0138af9101a28c16d9cad"),
    ],
)
def test_the_published_hashes(kind: int, expected: str) -> None:
    payload = deposit(kind)
    assert len(payload.to_abi()) == 800
    assert str(payload.hash()) == expected
    assert str(Transaction.from_l1(payload).hash) == expected


@given(payloads)
def test_the_tuple_is_what_eth_abi_encodes(payload: PriorityTransaction) -> None:
    fields = (
        payload.type,
        int.from_bytes(payload.sender),
        int.from_bytes(payload.to),
        payload.gas_limit,
        payload.gas_per_pubdata_limit,
        payload.max_fee_per_gas,
        0,
        0,
        payload.nonce,
        payload.value,
        [payload.to_mint, int.from_bytes(payload.refund_recipient), 0, 0],
        payload.data,
        b"",
        [int.from_bytes(each) for each in payload.factory_dep_hashes],
        b"",
        b"",
    )
    assert payload.to_abi() == abi_encode([TUPLE], [fields])
    assert payload.abi_size == len(payload.to_abi())


@given(payloads)
def test_both_encodings_survive_a_round_trip(payload: PriorityTransaction) -> None:
    assert PriorityTransaction.from_abi(payload.to_abi(), payload.factory_deps) == payload
    assert PriorityTransaction.decode(payload.encode()) == payload
    assert load(payload.encode(), payload.sender) == Transaction.from_l1(payload)


@given(payloads, st.data())
def test_a_damaged_tuple_is_rejected_or_is_another(
    check_mutation: Callable[..., None], payload: PriorityTransaction, data: st.DataObject
) -> None:
    def again(canonical: bytes) -> bytes:
        return PriorityTransaction.from_abi(canonical).to_abi()

    check_mutation(payload.to_abi(), again, data)


@given(payloads, st.data())
def test_a_damaged_record_is_rejected_or_is_another(
    check_mutation: Callable[..., None], payload: PriorityTransaction, data: st.DataObject
) -> None:
    def again(raw: bytes) -> bytes:
        return load(raw, ALICE).payload.encode()

    check_mutation(payload.encode(), again, data)


ENDS = "the encoding ends too early"
NOT_CANONICAL = "the encoding is not canonical"
UNUSED = "must be zero or empty"


def at_offset(offset: int) -> bytes:
    """Return the deposit's tuple further behind its offset than it has to be."""
    return offset.to_bytes(32) + bytes(offset - 32) + deposit().to_abi()[32:]


def padded_with(last: bytes) -> bytes:
    """Return a tuple whose data is one byte, with the last byte of the padding replaced."""
    canonical = msgspec.structs.replace(deposit(), data=b"1").to_abi()
    return canonical.replace(b"1" + bytes(31), b"1" + bytes(30) + last)


def tuple_with(index: int, word: int) -> bytes:
    canonical = bytearray(deposit().to_abi())
    start = 32 * (index + 1)
    canonical[start : start + 32] = word.to_bytes(32)
    return bytes(canonical)


@pytest.mark.parametrize(
    ("canonical", "field", "problem"),
    [
        (b"", "tuple", ENDS),
        (bytes(800), "txType", "0x0 is not a type that L1 sends"),
        (at_offset(64), "tuple", NOT_CANONICAL),
        (tuple_with(1, 2**160), "from", NOT_CANONICAL),
        (tuple_with(6, 1), "maxPriorityFeePerGas", UNUSED),
        (tuple_with(11, 2**160), "reserved[1]", NOT_CANONICAL),
        (tuple_with(12, 1), "reserved[2]", UNUSED),
        (tuple_with(14, 0), "data", NOT_CANONICAL),
        (tuple_with(15, 2**255), "signature", ENDS),
        (tuple_with(20, 1), "signature", UNUSED),
        (deposit().to_abi() + bytes(32), "tuple", NOT_CANONICAL),
        (padded_with(b"\1"), "tuple", NOT_CANONICAL),
    ],
)
def test_a_malformed_tuple_is_rejected_by_field(canonical: bytes, field: str, problem: str) -> None:
    with pytest.raises(MalformedTransaction) as caught:
        PriorityTransaction.from_abi(canonical)
    assert (caught.value.field, caught.value.problem) == (field, problem)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"\xff", "rlp ends before its item"),
        (b"\xff\xc0", "a stored L1 transaction has 2 items, got 0"),
        (b"\xff" + rlp_encode([[], []]), "tuple: a byte string is expected, got a list"),
        (b"\xff" + rlp_encode([deposit().to_abi(), b""]), "factoryDeps: a list is expected"),
        (b"\xfe" + rlp_encode([deposit().to_abi(), []]), "txType: 0xff expected first"),
    ],
)
def test_a_malformed_record_is_rejected(raw: bytes, problem: str) -> None:
    with pytest.raises(MalformedTransaction) as caught:
        load(raw, ALICE)
    assert str(caught.value).startswith(problem)
