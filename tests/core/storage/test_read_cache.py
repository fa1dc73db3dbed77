"""The cache of what was read of blocks."""

from __future__ import annotations

from entresol.primitives.records import BlockRecord
from entresol.storage.read_cache import ReadCache


class Records:
    """Records by number, and how often each was read."""

    def __init__(self) -> None:
        self.reads: list[int] = []

    def read(self, number: int) -> BlockRecord | None:
        self.reads.append(number)
        return BlockRecord(bytes([number]), (), (), (), ())


def test_a_record_is_read_once() -> None:
    cache, records = ReadCache(), Records()
    first = cache.record(1, records.read)
    assert cache.record(1, records.read) is first
    assert records.reads == [1]


def test_the_least_recently_used_record_is_evicted() -> None:
    cache, records = ReadCache(max_records=2), Records()
    for number in (1, 2, 1, 3, 1, 2):
        cache.record(number, records.read)
    assert records.reads == [1, 2, 3, 2]


def test_records_up_to_the_head_stay_cached_after_a_revert() -> None:
    cache, records = ReadCache(), Records()
    for number in (1, 2, 3):
        cache.record(number, records.read)
    cache.evict_above(1)
    for number in (1, 2, 3):
        cache.record(number, records.read)
    assert records.reads == [1, 2, 3, 2, 3]


def test_a_record_that_was_read_before_a_revert_is_not_cached() -> None:
    cache, records = ReadCache(), Records()

    def read_while_reverting(number: int) -> BlockRecord | None:
        cache.evict_above(-1)
        return records.read(number)

    cache.record(1, read_while_reverting)
    cache.record(1, records.read)
    assert records.reads == [1, 1]


def test_records_are_evicted_once_they_are_too_large_together() -> None:
    sender = bytes(20)

    def read(number: int) -> BlockRecord:
        return BlockRecord(bytes([number]), ((bytes([number]) * 10_000, sender),), (), (), ())

    cache = ReadCache(max_bytes=40_000)
    for number in range(10):
        cache.record(number, read)
    assert 20_000 < cache.size <= 40_000
    cache.evict_above(-1)
    assert cache.size == 0


def test_the_number_of_a_hash_is_read_again_after_a_revert() -> None:
    cache = ReadCache()
    cache.number(b"hash", lambda _: 7)
    cache.evict_above(6)
    assert cache.number(b"hash", lambda _: None) is None
