"""Events and subscriptions."""

from __future__ import annotations

from entresol.chain.events import BLOCK_EVENTS, BlocksReverted, ChainEvents, TransactionPending
from tests.support.chain.dev_chain import transaction


def event(head: int) -> BlocksReverted:
    return BlocksReverted((), head)


def test_a_slow_subscriber_loses_the_oldest_events_and_learns_how_many() -> None:
    feed = ChainEvents()
    slow, other = feed.subscribe(backlog=2), feed.subscribe()
    for head in range(5):
        feed.publish(event(head))
    assert slow.take() == ([event(3), event(4)], 3)
    assert len(other.take()[0]) == 5
    feed.publish(event(9))
    assert slow.take() == ([event(9)], 0)


def test_an_ended_subscription_receives_nothing() -> None:
    feed = ChainEvents()
    subscription = feed.subscribe()
    feed.unsubscribe(subscription)
    feed.unsubscribe(subscription)
    feed.publish(event(1))
    assert subscription.take() == ([], 0)


def test_a_listener_may_leave_while_it_is_woken() -> None:
    feed = ChainEvents()
    leaving = feed.subscribe(wake=lambda: feed.unsubscribe(leaving))
    staying = feed.subscribe()
    feed.publish(event(1))
    assert staying.take() == ([event(1)], 0)


def test_a_listener_of_blocks_is_not_woken_by_transactions() -> None:
    feed, woken = ChainEvents(), []
    blocks = feed.subscribe(*BLOCK_EVENTS, wake=lambda: woken.append(1))
    everything = feed.subscribe()
    pending = TransactionPending(transaction(0))
    feed.publish(pending)
    feed.publish(event(1))
    assert blocks.take() == ([event(1)], 0)
    assert len(woken) == 1
    assert everything.take() == ([pending, event(1)], 0)
    feed.unsubscribe(everything)
    feed.publish(pending)
    assert everything.take() == ([], 0)


def test_a_listener_gets_each_event_until_it_is_removed() -> None:
    feed = ChainEvents()
    every: list[object] = []
    of_blocks: list[object] = []
    feed.listen(every.append)
    feed.listen(of_blocks.append, *BLOCK_EVENTS)
    pending = TransactionPending(transaction(0))
    feed.publish(pending)
    feed.publish(event(1))
    feed.remove(every.append)
    feed.publish(event(2))
    assert every == [pending, event(1)]
    assert of_blocks == [event(1), event(2)]
