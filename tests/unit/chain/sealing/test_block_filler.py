"""The queue of priority transactions: in order, and with lookup by hash."""

from __future__ import annotations

from entresol.chain.sealing.block_filler import PriorityQueue
from entresol.primitives.transactions import Transaction
from tests.support.rollup.settling_chain import deposit

QUEUED = [Transaction.from_l1(deposit(number)) for number in range(5)]


def queue_of(*transactions: Transaction) -> PriorityQueue:
    queue = PriorityQueue()
    for transaction in transactions:
        queue.append(transaction)
    return queue


def test_an_empty_queue_has_neither_a_first_nor_a_last() -> None:
    queue = PriorityQueue()
    assert queue.first is queue.last is None
    assert not queue


def test_the_queue_is_in_order_of_arrival() -> None:
    queue = queue_of(*QUEUED)
    assert (list(queue), len(queue)) == (QUEUED, 5)
    assert (queue.first, queue.last) == (QUEUED[0], QUEUED[4])


def test_one_is_found_by_its_hash_until_its_turn_is_over() -> None:
    queue = queue_of(*QUEUED)
    assert queue.get(QUEUED[0].hash) is QUEUED[0]
    assert queue.get(bytes(QUEUED[3].hash)) is QUEUED[3]
    queue.pop_first()
    assert queue.get(QUEUED[0].hash) is None
    assert queue.first is QUEUED[1]


def test_what_is_put_back_comes_before_all_others_in_its_own_order() -> None:
    queue = queue_of(*QUEUED[2:])
    queue.push_front(QUEUED[:2])
    assert list(queue) == QUEUED
    assert queue.last is QUEUED[4]


def test_a_transaction_is_queued_again_once() -> None:
    queue = queue_of(*QUEUED[:3])
    queue.push_front(QUEUED[:2])
    assert list(queue) == QUEUED[:3]


def test_all_are_replaced_at_once() -> None:
    queue = queue_of(*QUEUED[:2])
    queue.replace(QUEUED[3:])
    assert list(queue) == QUEUED[3:]
    assert queue.get(QUEUED[0].hash) is None
