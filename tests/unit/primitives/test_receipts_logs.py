"""Logs and their blooms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol._native import rlp_decode, rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives.receipts import Log, bloom_of, union
from entresol.primitives.values import Address, Bloom, Hash32
from tests.support.evm.blooms import may_contain

if TYPE_CHECKING:
    from entresol._native import RlpItem

addresses = st.binary(min_size=20, max_size=20).map(Address)
hashes = st.binary(min_size=32, max_size=32).map(Hash32)
logs = st.builds(
    Log,
    address=addresses,
    topics=st.lists(hashes, max_size=4).map(tuple),
    data=st.binary(max_size=80),
)


@given(logs)
def test_logs_survive_a_round_trip(log: Log) -> None:
    assert Log.from_rlp(rlp_decode(rlp_encode(log.to_rlp()))) == log


@given(logs, st.data())
def test_damaged_logs_are_rejected_or_are_other_logs(
    check_mutation: Callable[..., None], log: Log, data: st.DataObject
) -> None:
    def again(encoded: bytes) -> bytes:
        return rlp_encode(Log.from_rlp(rlp_decode(encoded)).to_rlp())

    check_mutation(rlp_encode(log.to_rlp()), again, data)


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


def test_no_logs_have_an_empty_bloom() -> None:
    assert bloom_of([]) == Bloom.zero()
    assert not may_contain(Bloom.zero(), bytes(20))


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        (b"", "log: a list is expected"),
        ([b""], "log: 3 items expected, got 1"),
        ([b"", [], b""], "log.address: an address is 20 bytes, got 0"),
        ([bytes(20), b"", b""], "log.topics: a list is expected"),
        ([bytes(20), [b""], b""], r"log.topics\[0\]: a hash is 32 bytes, got 0"),
        ([bytes(20), [bytes(32)] * 5, b""], "log.topics: a log has at most 4 topics, got 5"),
        ([bytes(20), [], []], "log.data: a byte string is expected"),
    ],
)
def test_other_items_are_no_logs(item: RlpItem, problem: str) -> None:
    with pytest.raises(MalformedValue, match=problem):
        Log.from_rlp(item)
