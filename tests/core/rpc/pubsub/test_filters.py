"""Filters: each change once, also across reorgs."""

from __future__ import annotations

import pytest

from entresol.chain.events import BlocksReverted
from entresol.chain.finality import BlockTag
from entresol.errors import FilterNotFound, TooManyResults, UnknownBlock
from entresol.primitives.values import Hash32, Quantity
from entresol.rpc.pubsub import event_log
from entresol.rpc.pubsub.filters import FilterLogs, Filters
from entresol.rpc.services.log_search import LogLimits
from entresol.rpc.types.log_filter import LogFilter
from tests.support.chain.log_emitter import SINGLE, EmittingChain, read
from tests.support.chain.steering import revert

ANY = LogFilter()


@pytest.fixture
def filters(chain: EmittingChain) -> Filters:
    return filters_of(chain)


def filters_of(
    chain: EmittingChain, *, max_filters: int = 10_000, results: int = 10_000
) -> Filters:
    limits = LogLimits(results=results)
    return Filters(chain, chain.log_cache(), max_filters=max_filters, limits=limits)


def places(filters: Filters, filter_id: int) -> list[tuple[int, bool]]:
    """Return block and fate of the logs that changed."""
    logs = read(filters.changes(filter_id))
    return [(int(log["blockNumber"], 16), log["removed"]) for log in logs]


def blocks(search: FilterLogs) -> list[int]:
    """Return the blocks of the logs that are found."""
    return [int(log["blockNumber"], 16) for log in read(search.run())]


# Ids


def test_an_id_reads_the_same_as_a_hash_and_as_a_quantity(filters: Filters) -> None:
    for _ in range(200):
        filter_id = filters.new_block_filter()
        text = str(filter_id)
        assert len(text) == 66
        assert text[2] != "0"
        assert str(Hash32.parse(text)) == text == str(Quantity.parse(text))
    assert len(filters) == 200


def test_ids_are_compared_as_numbers(filters: Filters) -> None:
    filter_id = filters.new_block_filter()
    cursor = filters._cursors.pop(filter_id)
    assert cursor is not None
    filters._cursors.put(1, cursor)
    assert filters.changes(Quantity.parse("0x01")) == []
    assert filters.uninstall(Quantity.parse("0x0001"))
    assert not filters.uninstall(Quantity.parse("0x1"))


# The three kinds


def test_61_a_tag_as_upper_bound_is_resolved_at_each_poll(
    chain: EmittingChain, filters: Filters
) -> None:
    filter_id = filters.new_log_filter(LogFilter(to_block=BlockTag.SAFE))
    for _ in range(3):
        chain.seal_emission()
    assert places(filters, filter_id) == []
    chain.set_finality(safe=2)
    assert places(filters, filter_id) == [(1, False), (2, False)]
    chain.set_finality(safe=3)
    assert places(filters, filter_id) == [(3, False)]


def test_63_the_filter_used_longest_ago_gives_way(chain: EmittingChain) -> None:
    filters = filters_of(chain, max_filters=2)
    first, second = filters.new_block_filter(), filters.new_log_filter(ANY)
    filters.changes(first)
    third = filters.new_pending_filter()
    assert not filters.uninstall(second)
    filters.changes(first)
    filters.new_block_filter()
    assert not filters.uninstall(third)
    assert filters.uninstall(first)


def test_63_requesting_logs_counts_as_use(chain: EmittingChain) -> None:
    filters = filters_of(chain, max_filters=2)
    first, second = filters.new_log_filter(ANY), filters.new_log_filter(ANY)
    filters.logs(first).run()
    filters.new_block_filter()
    assert filters.uninstall(first)
    assert not filters.uninstall(second)


def test_logs_begin_with_the_filters_own_range_and_move_nothing(
    chain: EmittingChain, filters: Filters
) -> None:
    chain.seal_emission()
    from_genesis = filters.new_log_filter(LogFilter(from_block=0))
    from_latest = filters.new_log_filter(ANY)
    chain.seal_emission()
    assert blocks(filters.logs(from_genesis)) == [1, 2]
    assert blocks(filters.logs(from_latest)) == [2]
    assert places(filters, from_genesis) == places(filters, from_latest) == [(2, False)]


def test_a_range_without_logs_is_known_to_be_empty_until_it_changes(
    chain: EmittingChain, filters: Filters
) -> None:
    from_latest = filters.new_log_filter(ANY)
    bounded = filters.new_log_filter(LogFilter(from_block=0, to_block=1))
    chain.builder.seal()
    checkpoint = chain.history.mark()
    for filter_id in (from_latest, bounded):
        assert not filters.is_known_empty(filter_id)
        assert filters.logs(filter_id).run_if_quick() == []
        assert filters.is_known_empty(filter_id)
    chain.seal_emission()
    assert not filters.is_known_empty(from_latest)
    assert filters.is_known_empty(bounded)
    revert(chain, checkpoint)
    assert not filters.is_known_empty(from_latest)
    assert not filters.is_known_empty(bounded)


def test_a_block_that_replaces_one_without_logs_is_searched(
    chain: EmittingChain, filters: Filters
) -> None:
    filter_id = filters.new_log_filter(ANY)
    chain.builder.seal()
    assert blocks(filters.logs(filter_id)) == []
    chain.history.rewind(0)
    chain.seal_emission()
    assert not filters.is_known_empty(filter_id)
    assert blocks(filters.logs(filter_id)) == [1]
    assert not filters.is_known_empty(filter_id)


def test_a_tag_that_moves_ends_what_is_known_of_a_range(
    chain: EmittingChain, filters: Filters
) -> None:
    chain.seal_emission()
    filter_id = filters.new_log_filter(LogFilter(from_block=0, to_block=BlockTag.SAFE))
    assert blocks(filters.logs(filter_id)) == []
    assert filters.is_known_empty(filter_id)
    chain.set_finality(safe=1)
    assert not filters.is_known_empty(filter_id)
    assert blocks(filters.logs(filter_id)) == [1]


# Limits


def test_hashes_that_do_not_fit_into_a_response_come_with_the_next(chain: EmittingChain) -> None:
    filters = filters_of(chain, results=3)
    blocks, transactions = filters.new_block_filter(), filters.new_pending_filter()
    sent = [chain.emit().hash for _ in range(4)]
    sealed = [chain.builder.seal().hash() for _ in range(4)]
    assert [filters.changes(transactions) for _ in range(3)] == [sent[:3], sent[3:], []]
    assert [filters.changes(blocks) for _ in range(3)] == [sealed[:3], sealed[3:], []]


def test_a_log_filter_with_too_many_changes_is_removed(chain: EmittingChain) -> None:
    filters = filters_of(chain, results=2)
    filter_id = filters.new_log_filter(LogFilter(from_block=0))
    for _ in range(3):
        chain.seal_emission()
    with pytest.raises(TooManyResults):
        filters.logs(filter_id).run()
    with pytest.raises(FilterNotFound):
        filters.changes(filter_id)
    assert not filters.uninstall(filter_id)


def test_of_too_many_transactions_the_oldest_are_dropped(
    chain: EmittingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = filters_of(chain)
    monkeypatch.setattr(filters, "_pending", event_log.PendingHashes(max_hashes=2))
    filter_id = filters.new_pending_filter()
    sent = [chain.emit().hash for _ in range(3)]
    assert filters.changes(filter_id) == sent[1:]
    assert filters.changes(filter_id) == []


def test_a_filter_that_fell_behind_the_event_log_is_not_found(
    chain: EmittingChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    filters = filters_of(chain)
    monkeypatch.setattr(filters, "_reorgs", event_log.ReorgLog(max_bytes=100))
    filter_id = filters.new_log_filter(ANY)
    chain.seal_emission()
    chain.history.rewind(0)
    with pytest.raises(FilterNotFound):
        filters.changes(filter_id)
    assert filters.changes(filters.new_log_filter(ANY)) == []


def test_without_filters_no_events_are_stored(chain: EmittingChain, filters: Filters) -> None:
    others = set(chain.events._listeners[BlocksReverted]) - {filters._on_event}
    filter_id = filters.new_log_filter(ANY)
    chain.seal_emission()
    chain.history.rewind(0)
    assert len(filters._reorgs._reorgs) == 1
    filters.uninstall(filter_id)
    chain.builder.seal()
    chain.history.rewind(0)
    assert not filters._reorgs._reorgs
    filters.close()
    assert set(chain.events._listeners[BlocksReverted]) == others


# Going back


def test_a_filter_by_block_hash_only_ever_means_that_block(
    chain: EmittingChain, filters: Filters
) -> None:
    checkpoint = chain.history.mark()
    chain.seal_emission()
    wanted = LogFilter(block_hash=chain.head.hash())
    filter_id = filters.new_log_filter(wanted)
    chain.seal_emission()
    assert places(filters, filter_id) == []
    assert blocks(filters.logs(filter_id)) == [1]
    revert(chain, checkpoint)
    chain.seal_emission(SINGLE)
    assert places(filters, filter_id) == [(1, True)]
    with pytest.raises(UnknownBlock):
        filters.logs(filter_id).run()
    with pytest.raises(UnknownBlock):
        filters.new_log_filter(wanted)
