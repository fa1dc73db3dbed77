"""Transactions from L1 that wait: in order, and found by their hash."""

from __future__ import annotations

from entresol.chain.priority_queue import PriorityQueue
from entresol.primitives.transactions import Transaction
from tests.support.rollup.settling_chain import deposit

WAITING = [Transaction.from_l1(deposit(number)) for number in range(5)]


def queue_of(*transactions: Transaction) -> PriorityQueue:
    queue = PriorityQueue()
    for transaction in transactions:
        queue.append(transaction)
    return queue


def test_an_empty_queue_has_neither_a_first_nor_a_last() -> None:
    queue = PriorityQueue()
    assert queue.first is queue.last is None
    assert not queue


def test_it_keeps_the_order_in_which_they_came() -> None:
    queue = queue_of(*WAITING)
    assert (list(queue), len(queue)) == (WAITING, 5)
    assert (queue.first, queue.last) == (WAITING[0], WAITING[4])


def test_one_is_found_by_its_hash_until_its_turn_is_over() -> None:
    queue = queue_of(*WAITING)
    assert queue.get(WAITING[0].hash) is WAITING[0]
    assert queue.get(bytes(WAITING[3].hash)) is WAITING[3]
    queue.pop_first()
    assert queue.get(WAITING[0].hash) is None
    assert queue.first is WAITING[1]


def test_what_is_put_back_comes_before_all_others_in_its_own_order() -> None:
    queue = queue_of(*WAITING[2:])
    queue.push_front(WAITING[:2])
    assert list(queue) == WAITING
    assert queue.last is WAITING[4]


def test_what_waits_again_waits_once() -> None:
    queue = queue_of(*WAITING[:3])
    queue.push_front(WAITING[:2])
    assert list(queue) == WAITING[:3]


def test_all_are_replaced_at_once() -> None:
    queue = queue_of(*WAITING[:2])
    queue.replace(WAITING[3:])
    assert list(queue) == WAITING[3:]
    assert queue.get(WAITING[0].hash) is None
