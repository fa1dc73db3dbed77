"""The cache of rendered responses: bounded, and never stale."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from entresol.chain.events import BlocksReverted, TransactionPending
from entresol.rpc.cache import ENTRY_BYTES, RenderedCache, ResponseKind
from tests.support.chain.sample_chain import SampleChain


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
