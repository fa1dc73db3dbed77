"""The memory of the filters and subscriptions of all clients together."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from entresol.errors import SubscriptionsFull
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory, criteria_bytes
from entresol.rpc.pubsub.filters import Filters
from entresol.rpc.pubsub.subscriptions import Subscriptions
from entresol.rpc.types.log_filter import LogFilter, SubscriptionOptions
from entresol.server.handler import LocalConnection
from entresol.storage.log_index import LogQuery
from tests.support.chain.log_emitter import EmittingChain


class Client(LocalConnection):
    """A connection that ignores what it gets."""

    def on_close(self, callback: Callable[[], object]) -> None:
        self.close = callback


def topics(count: int) -> list[list[str]]:
    return [[f"0x{position}{number:063x}" for number in range(count)] for position in range(4)]


def filters_of(chain: EmittingChain, memory: CriteriaMemory, max_filters: int = 100) -> Filters:
    log_cache = chain.log_cache()
    return Filters(chain, log_cache, max_filters=max_filters, memory=memory)


def test_the_estimate_of_long_criteria_is_not_below_what_they_take(chain: EmittingChain) -> None:
    filters = filters_of(chain, CriteriaMemory())
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        wanted = LogFilter.parse({"topics": topics(1_000)})
        filters.new_log_filter(wanted)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert criteria_bytes(wanted.query) // 2 < after - before <= criteria_bytes(wanted.query)


def test_filters_that_exceed_the_memory_are_rejected_and_others_stay(chain: EmittingChain) -> None:
    wanted = LogFilter.parse({"topics": topics(100)})
    memory = CriteriaMemory(max_bytes=2 * criteria_bytes(wanted.query) + 10)
    filters = filters_of(chain, memory)
    first, _ = filters.new_log_filter(wanted), filters.new_log_filter(wanted)
    with pytest.raises(SubscriptionsFull, match="--filter-limit-bytes"):
        filters.new_log_filter(wanted)
    with pytest.raises(SubscriptionsFull):
        filters.new_block_filter()
    assert filters.changes(first) == []
    assert len(filters) == 2
    filters.uninstall(first)
    filters.new_log_filter(wanted)


def test_a_filter_that_is_evicted_returns_its_memory(chain: EmittingChain) -> None:
    memory = CriteriaMemory()
    filters = filters_of(chain, memory, max_filters=2)
    for _ in range(5):
        filters.new_log_filter(LogFilter())
    assert memory.used == 2 * criteria_bytes(LogQuery())


def test_a_filter_that_is_polled_does_not_count_twice(chain: EmittingChain) -> None:
    memory = CriteriaMemory()
    filters = filters_of(chain, memory)
    filter_id = filters.new_log_filter(LogFilter())
    for _ in range(3):
        filters.changes(filter_id)
    assert memory.used == criteria_bytes(LogQuery())
    filters.uninstall(filter_id)
    assert memory.used == 0


def test_subscriptions_share_the_memory_until_they_end(chain: EmittingChain) -> None:
    options = SubscriptionOptions({"topics": topics(100)})
    memory = CriteriaMemory(max_bytes=2 * criteria_bytes(options.query))
    # No event is sent, so nothing is rendered.
    subscriptions = Subscriptions(chain.events, chain.blocks, None, memory=memory)  # type: ignore[arg-type]
    one, other = Client(), Client()
    first = subscriptions.subscribe(one, "logs", options)
    subscriptions.subscribe(other, "logs", options)
    with pytest.raises(SubscriptionsFull):
        subscriptions.subscribe(one, "newHeads")
    with pytest.raises(SubscriptionsFull):
        filters_of(chain, memory).new_block_filter()
    subscriptions.unsubscribe(one, first)
    assert memory.used == criteria_bytes(options.query)
    other.close()
    assert memory.used == 0
    subscriptions.close()
