"""The cache of rendered responses: bounded, and never stale."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from typing import NoReturn, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from entresol.chain.events import BlocksReverted, TransactionPending
from entresol.primitives.batches import Batch
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.values import Address
from entresol.rpc.cache import ENTRY_BYTES, BlockLogs, LogCache, RenderedCache, ResponseKind
from entresol.rpc.render.chain_json import NoBatches, located_log_json
from entresol.rpc.services.log_search import LogLimits, LogSearch
from entresol.rpc.services.rendered_chain import BatchInclusion, PendingTransactions, RenderedChain
from entresol.rpc.types.log_filter import LogFilter
from entresol.storage.log_index import LogQuery
from entresol.storage.store_view import StoreView
from tests.support.chain.dev_chain import LOGGER
from tests.support.chain.log_emitter import EMITTERS, EmittingChain, read
from tests.support.chain.sample_chain import SENDERS, SampleChain
from tests.support.hex_data import word
from tests.support.run.examples import examples


def answer(size: int = 0) -> msgspec.Raw:
    return msgspec.Raw(b"x" * size)


def put(cache: RenderedCache, number: int, size: int = 0) -> None:
    cache.put((ResponseKind.BLOCK, number), answer(size), block=number, generation=cache.generation)


def has(cache: RenderedCache, number: int) -> bool:
    return cache.get((ResponseKind.BLOCK, number)) is not None


def values(cache: RenderedCache) -> list[msgspec.Raw]:
    entries = (cache._entries.get(key) for key in cache._entries)
    return [entry[0] for entry in entries if entry is not None]


def test_a_response_is_cached() -> None:
    cache, block = RenderedCache(), answer(3)
    cache.put((ResponseKind.BLOCK, 1), block, block=1, generation=cache.generation)
    assert cache.get((ResponseKind.BLOCK, 1)) is block
    assert cache.get((ResponseKind.FULL_BLOCK, 1)) is None
    assert cache.size == ENTRY_BYTES + 3


def test_the_least_recently_used_is_evicted_first() -> None:
    cache = RenderedCache(3 * ENTRY_BYTES)
    for number in (1, 2, 3):
        put(cache, number)
    assert has(cache, 1)
    put(cache, 4)
    assert [has(cache, number) for number in (1, 2, 3, 4)] == [True, False, True, True]


def test_a_response_that_is_too_large_is_not_cached() -> None:
    cache = RenderedCache(2 * ENTRY_BYTES)
    put(cache, 1)
    put(cache, 2, size=ENTRY_BYTES + 1)
    assert (has(cache, 1), has(cache, 2)) == (True, False)


def test_a_revert_invalidates_the_blocks_above() -> None:
    cache = RenderedCache()
    for number in range(5):
        put(cache, number)
    cache.invalidate_above(2)
    assert [has(cache, number) for number in range(5)] == [True, True, True, False, False]


def test_a_batch_invalidates_its_blocks() -> None:
    cache = RenderedCache()
    for number in range(5):
        put(cache, number)
    cache.invalidate(1, 3)
    assert [has(cache, number) for number in range(5)] == [True, False, False, False, True]


def test_a_response_from_before_an_invalidation_is_not_cached() -> None:
    cache = RenderedCache()
    generation = cache.generation
    cache.invalidate_above(0)
    cache.put((ResponseKind.BLOCK, 1), answer(), block=1, generation=generation)
    assert len(cache) == 0


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(0, 9), st.integers(0, 500)),
            st.tuples(st.just("above"), st.integers(0, 9), st.just(0)),
            st.tuples(st.just("range"), st.integers(0, 9), st.integers(0, 9)),
            st.tuples(st.just("get"), st.integers(0, 9), st.just(0)),
        )
    )
)
def test_its_index_always_agrees_with_its_entries(steps: list[tuple[str, int, int]]) -> None:
    cache = RenderedCache(3_000)
    for step, first, second in steps:
        match step:
            case "put":
                put(cache, first, second)
            case "above":
                cache.invalidate_above(first)
            case "range":
                cache.invalidate(first, second)
            case "get":
                has(cache, first)
        sizes = [ENTRY_BYTES + memoryview(cached).nbytes for cached in values(cache)]
        assert cache.size == sum(sizes) <= 3_000
        listed = {key for keys in cache._by_block.values() for key in keys}
        assert listed == set(cache._entries)
        assert all(cache._by_block.values())


def test_rendered_objects_are_cached(own_sample: SampleChain) -> None:
    sample = own_sample
    sent = sample.hashes["legacy"]
    assert sample.rendered.block(2, full=True) is sample.rendered.block(2, full=True)
    assert sample.rendered.header(2) is sample.rendered.header(2)
    assert sample.rendered.receipt(sent) is sample.rendered.receipt(sent)
    assert sample.rendered.transaction(sent) is sample.rendered.transaction(sent)
    assert sample.rendered.block_receipts(2) is sample.rendered.block_receipts(2)


def test_a_revert_leaves_the_blocks_below(own_sample: SampleChain) -> None:
    cached = own_sample.rendered.block(1, full=False)
    own_sample.rendered.block(2, full=False)
    own_sample.rendered.on_event(BlocksReverted((), 1))
    assert own_sample.rendered.block(1, full=False) is cached
    assert own_sample.cache.get((ResponseKind.BLOCK, 2)) is None


def test_a_transaction_that_is_pending_again_is_invalidated(own_sample: SampleChain) -> None:
    sent = own_sample.sent["legacy"]
    own_sample.transaction("legacy")
    own_sample.receipt("legacy")
    own_sample.rendered.on_event(TransactionPending(sent))
    assert own_sample.cache.get((ResponseKind.TRANSACTION, sent.hash)) is None
    assert own_sample.cache.get((ResponseKind.RECEIPT, sent.hash)) is None


SENDER_TOPIC = SENDERS[2].rjust(32, b"\0")


def test_a_log_is_rendered_once_and_only_if_it_matches(sample: SampleChain) -> None:
    logs = BlockLogs(sample.record, None)
    assert logs.cost == len(logs)
    (one,) = logs.matching(LogQuery(topics=(frozenset({SENDER_TOPIC}),)))
    assert logs.cost == len(logs) - 1
    everything = list(logs.matching(ANY))
    assert any(log is one for log in everything)
    assert all(a is b for a, b in zip(everything, logs.matching(ANY), strict=True))
    assert logs.cost == 0


def test_a_cached_block_with_many_logs_still_costs(sample: SampleChain) -> None:
    logs = BlockLogs(with_logs(sample.record, count=3_200, data=b""), None)
    assert logs.cost == 3_400
    assert len(list(logs.matching(ANY))) == 3_200
    assert logs.cost == 200


@pytest.mark.parametrize("size", [0, 32, 1_000, 50_000])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_it_takes_no_more_memory_than_its_weight(
    sample: SampleChain, size: int, count: int
) -> None:
    data = with_logs(sample.record, count=count, data=b"\xab" * size).encode()
    # Other threads allocate, too.
    taken, weight = min(taken_and_weight(data) for _ in range(10))
    assert taken <= weight < 4 * max(taken, 4_096)


def taken_and_weight(data: bytes) -> tuple[int, int]:
    """Return how much memory the rendered logs of an encoded block take, and how much they say."""
    gc.collect()
    tracemalloc.start()
    try:
        logs = BlockLogs(BlockRecord.decode(data), None)
        for _ in logs.matching(ANY):
            pass
        gc.collect()
        return tracemalloc.get_traced_memory()[0], logs.weight
    finally:
        tracemalloc.stop()


def with_logs(record: BlockRecord, count: int, data: bytes) -> BlockRecord:
    """Return a block like `record` whose first transaction emitted so many logs with four topics."""
    topics = tuple(bytes([number]) * 32 for number in range(4))
    log = bytes(LOGGER), topics, data
    first = TransactionResult(succeeded=True, gas_used=21_000, logs=(log,) * count)
    rest = tuple(TransactionResult(succeeded=True, gas_used=21_000) for _ in record.results[1:])
    return BlockRecord(
        record.header_rlp, record.transactions, (first, *rest), record.changes, record.codes
    )


ANY = LogQuery()
SMALL, LARGE = 24_000, 10**9


@pytest.fixture
def chain() -> Iterator[EmittingChain]:
    chain = EmittingChain.begin()
    yield chain
    chain.close()


def batch(number: int, first: int, last: int) -> Batch:
    word = bytes(32)
    return Batch(number, first, last, 1, 2, 3, 0, 0, word, (), 0, word, word)


def test_a_block_that_is_too_large_is_read_each_time(chain: EmittingChain) -> None:
    chain.seal_emission()
    log_cache = chain.log_cache(max_bytes=100)
    first, second = log_cache.logs_of(1), log_cache.logs_of(1)
    assert first is not None
    assert second is not None
    assert list(first.matching(ANY)) == list(second.matching(ANY))
    assert not log_cache.is_cached(1)


def test_a_block_that_changed_while_it_was_read_is_not_cached(chain: EmittingChain) -> None:
    chain.seal_emission()

    class Slow:
        block_number = staticmethod(chain.blocks.block_number)
        blocks_with_logs = staticmethod(chain.blocks.blocks_with_logs)

        @staticmethod
        def get_record(number: int) -> BlockRecord | None:
            record = chain.blocks.get_record(number)
            log_cache.invalidate(1, 1)
            return record

    log_cache = LogCache(cast("StoreView", Slow()), NoBatches())
    assert log_cache.logs_of(1) is not None
    assert not log_cache.is_cached(1)


def addresses(logs: BlockLogs) -> list[str]:
    return [log["address"] for log in read(logs.matching(ANY))]


_topics = st.tuples(st.integers(0, 2), st.integers(0, 2))
_emissions = st.lists(st.tuples(st.sampled_from(EMITTERS), _topics), max_size=3)


class BookMachine(RuleBasedStateMachine):
    """Drives a chain with batches, and compares each search with a plain scan of all blocks."""

    @initialize(max_bytes=st.sampled_from([SMALL, LARGE]))
    def begin(self, max_bytes: int) -> None:
        self.chain = EmittingChain.begin()
        blocks = self.chain.blocks
        pending = PendingTransactions(self.chain.pool, self.chain.filler.priority)
        self.batches = BatchInclusion(self.chain.batches)
        self.rendered = RenderedChain(270, blocks, pending, self.unasked, batches=self.batches)
        self.max_bytes = max_bytes
        self.rendered.log_cache = LogCache(blocks, self.batches, max_bytes)
        self.events = self.chain.events.subscribe(wake=self.follow)
        self.chain.batches.append(batch(0, 0, 0), b"", [0])

    def unasked(self) -> NoReturn:
        raise AssertionError

    def follow(self) -> None:
        for event in self.events.take()[0]:
            self.rendered.on_event(event)

    def teardown(self) -> None:
        self.chain.close()

    # The chain

    @rule(blocks=st.lists(_emissions, min_size=1, max_size=4))
    def seal(self, blocks: list[list[tuple[Address, tuple[int, int]]]]) -> None:
        for emissions in blocks:
            for by, (emitter, topics) in enumerate(emissions):
                self.chain.emit(emitter, topics, by=by)
            self.chain.builder.seal()

    @rule(back=st.integers(1, 3))
    def rewind(self, back: int) -> None:
        self.chain.history.rewind(max(self.chain.number - back, 0))

    @rule(blocks=st.integers(1, 6))
    def seal_batch(self, blocks: int) -> None:
        table = self.chain.batches
        last = table.last()
        assert last is not None
        first = last.last_block + 1
        sealed = batch(last.number + 1, first, min(first + blocks - 1, self.chain.number))
        if sealed.last_block >= first:
            places = [0] * (sealed.last_block - first + 1)
            table.append(sealed, b"", places)
            self.rendered.batch_sealed(first, sealed.last_block)

    # The questions

    @rule(
        addresses=st.frozensets(st.sampled_from(EMITTERS), max_size=2),
        topics=st.lists(st.frozensets(st.integers(0, 2).map(word), max_size=2), max_size=2),
        first=st.integers(0, 12),
        length=st.integers(0, 12),
        on_loop=st.booleans(),
    )
    def ask(
        self,
        addresses: frozenset[Address],
        topics: list[frozenset[bytes]],
        first: int,
        length: int,
        on_loop: bool,
    ) -> None:
        # A range that begins above the head is rejected.
        first = min(first, self.chain.number)
        query = LogQuery(addresses=frozenset[bytes](addresses), topics=tuple(topics))
        wanted = LogFilter(query=query, from_block=first, to_block=first + length)
        limits = LogLimits(follows_geth=True)
        search = LogSearch.of(self.rendered.log_cache, self.chain, wanted, limits)
        found = asyncio.run(at_once(search)) if on_loop else search.run()
        if found is not None:
            assert found == self.plain(query, first, first + length)

    @rule()
    def ask_for_everything(self) -> None:
        search = LogSearch.of(self.rendered.log_cache, self.chain, LogFilter(from_block=0))
        assert search.run() == self.plain(ANY, 0, self.chain.number)

    @invariant()
    def what_it_knows_is_so(self) -> None:
        log_cache = self.rendered.log_cache
        for number in filter(log_cache.is_cached, range(13)):
            logs = log_cache.logs_of(number)
            assert logs is not None
            assert list(logs.matching(ANY)) == self.plain(ANY, number, number)

    @invariant()
    def it_stays_within_its_bounds(self) -> None:
        assert self.rendered.log_cache.size <= self.max_bytes

    # The model

    def plain(self, query: LogQuery, first: int, last: int) -> list[bytes]:
        """Return what is to be found, by reading every block and writing every log."""
        return [
            located_log_json(log, self.batches.batch_of(log.block_number))
            for log in self.chain.all_logs()
            if first <= log.block_number <= last and query.accepts(log.address, log.topics)
        ]


async def at_once(search: LogSearch) -> list[bytes] | None:
    return search.run_if_quick()


TestBookMachine = BookMachine.TestCase
TestBookMachine.settings = settings(
    max_examples=examples(40), stateful_step_count=30, deadline=None
)
