"""Receipts in their consensus encoding, their logs and blooms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import rlp as reference
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives.receipts import Log, Receipt, bloom_of, union
from entresol.primitives.values import Address, Bloom, Hash32

if TYPE_CHECKING:
    from entresol._native import RlpItem


def may_contain(bloom: Bloom, value: bytes) -> bool:
    """Return whether an address or topic may be in `bloom`, computed beside the code that makes one."""
    digest, bits = keccak256(value), int.from_bytes(bloom)
    return all(bits >> (int.from_bytes(digest[at : at + 2]) % 2048) & 1 for at in (0, 2, 4))


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


def test_another_receipt_starts_with_its_type() -> None:
    receipt = Receipt.of(0xFF, succeeded=False, cumulative_gas_used=0, logs=())
    assert receipt.encode() == b"\xff" + reference.encode([b"", b"", bytes(256), []])


@pytest.mark.parametrize(
    ("encoded", "problem"),
    [
        (b"", "a receipt is not empty"),
        (b"\x02\xc0", "a receipt has 4 items, got 0"),
        (b"\x80", "a receipt is an rlp list"),
        (b"\x00\xc0", "rlp has trailing bytes"),
        (rlp_encode([b"\2", b"", bytes(256), []]), "status: a status is 0 or 1, got 2"),
        (rlp_encode([b"", b"", b"", []]), "logsBloom: a bloom is 256 bytes, got 0"),
        (rlp_encode([b"", b"", bytes(256), b""]), "logs: a list is expected"),
        (rlp_encode([b"", b"", bytes(256), [b""]]), r"logs\[0\]: a list is expected"),
    ],
)
def test_other_bytes_are_no_receipt(encoded: bytes, problem: str) -> None:
    with pytest.raises(MalformedValue, match=problem):
        Receipt.decode(encoded)


@given(st.lists(logs, max_size=5))
def test_a_bloom_contains_what_its_logs_have(some: list[Log]) -> None:
    bloom = bloom_of(some)
    for log in some:
        assert may_contain(bloom, log.address)
        assert all(may_contain(bloom, topic) for topic in log.topics)


@given(st.lists(logs, max_size=5))
def test_a_union_is_the_bloom_of_all_logs(some: list[Log]) -> None:
    assert union(bloom_of([log]) for log in some) == bloom_of(some)


def test_a_bloom_sets_the_bits_that_the_yellow_paper_names() -> None:
    address = Address.parse("0x0f572e5295c57f15886f9b263e2f6d2d6c7b5ec6")
    bloom = int.from_bytes(bloom_of([Log(address=address, topics=(), data=b"")]))
    assert {bit for bit in range(2048) if bloom >> bit & 1} == {1323, 431, 1319}


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ([b""], "log: 3 items expected, got 1"),
        ([b"", [], b""], "log.address: an address is 20 bytes, got 0"),
        ([bytes(20), b"", b""], "log.topics: a list is expected"),
        ([bytes(20), [b""], b""], r"log.topics\[0\]: a hash is 32 bytes, got 0"),
        ([bytes(20), [bytes(32)] * 5, b""], "log.topics: a log has at most 4 topics, got 5"),
    ],
)
def test_other_items_are_no_logs(item: RlpItem, problem: str) -> None:
    with pytest.raises(MalformedValue, match=problem):
        Log.from_rlp(item)
