"""Which batch is booked next: the oldest that was not tried, then rejected ones in turn."""

from __future__ import annotations

import pytest

from entresol.primitives.batches import Batch, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.settlement import book_queue
from entresol.rollup.settlement.book_queue import RETRIES_PER_BLOCK, SCANNED_PER_STEP, BookQueue
from entresol.rollup.step_loop import Backoff
from entresol.storage.store import Store

WORD = bytes(32)


def queue_of(store: Store, *logs: int) -> BookQueue:
    """Return the queue of batches from 1 on with so many logs, one of each for a deposit."""
    for number, count in enumerate(logs, start=1):
        batch = Batch(number, number, number, 1, 2, 3, 1, 0, WORD, (), count, WORD, WORD)
        store.batches.append(batch, b"", [(0, 0)])
    return BookQueue(store.batches, Backoff(10.0, 40.0))


def test_executed_batches_with_messages_come_first_the_oldest_before_others(store: Store) -> None:
    queue = queue_of(store, 2, 1, 5, 2)
    assert not queue.scan(3)
    assert queue.first(0.0, 1) == 1
    queue.on_booked(1)
    assert (queue.first(0.0, 1), len(queue), queue.last_booked) == (3, 1, 1)
    queue.on_booked(3)
    assert queue.first(0.0, 1) is None
    queue.scan(4)
    assert queue.first(0.0, 1) == 4


def test_what_is_booked_already_is_left_out(store: Store) -> None:
    queue = queue_of(store, 2, 2)
    store.batches.books.book(1, SettlementTransaction(Hash32(WORD), 7, 1))
    queue.scan(2)
    assert (queue.first(0.0, 1), queue.last_booked) == (2, 1)


def test_a_long_chain_is_looked_at_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_queue, "SCANNED_PER_STEP", 2)
    queue = queue_of(store, 2, 2, 2)
    assert queue.scan(3)
    assert len(queue) == 2
    assert not queue.scan(3)
    assert len(queue) == 3
    assert SCANNED_PER_STEP > 2


def test_a_rejected_batch_is_tried_after_pauses_that_double(store: Store) -> None:
    queue = queue_of(store, 2)
    queue.scan(1)
    now = 0.0
    for pause in (10.0, 20.0, 40.0, 40.0):
        queue.on_rejected(1, now, 5)
        assert queue.first(now + pause - 1, 5) is None
        assert queue.first(now + pause, 5) == 1
        now += pause
    assert (queue.rejected, queue.first_rejected) == (1, 1)


def test_a_new_block_of_l1_lets_some_rejected_batches_be_tried_at_once(store: Store) -> None:
    count = RETRIES_PER_BLOCK + 2
    queue = queue_of(store, *[2] * count)
    queue.scan(count)
    for number in range(1, count + 1):
        queue.on_rejected(number, 0.0, 5)
    tried = []
    while (found := queue.first(1.0, 6)) is not None:
        tried.append(found)
        queue.on_rejected(found, 1.0, 6)
    assert tried == [1, 2, 3, 4]
    # The next block continues with those that waited longest.
    assert queue.first(1.0, 7) == 5


def test_what_was_never_tried_goes_before_what_was_rejected(store: Store) -> None:
    queue = queue_of(store, 2, 2)
    queue.scan(1)
    queue.on_rejected(1, 0.0, 5)
    queue.scan(2)
    assert queue.first(100.0, 9) == 2


def test_so_many_rejected_batches_are_remembered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_queue, "MAX_REJECTED", 2)
    queue = queue_of(store, 2, 2, 2)
    queue.scan(3)
    queue.on_rejected(1, 0.0, 5)
    for number in (1, 2, 3):
        queue.on_rejected(number, 0.0, 5)
    assert (queue.rejected, queue.first_rejected) == (2, 2)


def test_a_reset_looks_at_all_batches_again(store: Store) -> None:
    queue = queue_of(store, 2, 2)
    queue.scan(2)
    queue.on_rejected(1, 0.0, 5)
    queue.skip(2)
    queue.reset()
    assert len(queue) == 0
    queue.scan(2)
    assert queue.first(0.0, 5) == 1
