"""Log searches: which blocks they read, which logs they find, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from entresol.errors import InvalidFilter, TooManyBlocks, TooManyResults, UnknownBlock
from entresol.primitives.values import Address, Hash32
from entresol.rpc.services.log_search import BlockRange, LogLimits, LogSearch, resolve_range
from entresol.rpc.types.log_filter import LogFilter
from tests.support.chain.log_emitter import EMITTERS, EmittingChain, read
from tests.support.hex_data import word

ONE, TWO = str(word(1)), str(word(2))


@pytest.fixture(scope="module")
def chain() -> Iterator[EmittingChain]:
    """Return a chain with one, two and three logs in blocks 1, 2 and 3, and none in block 4."""
    chain = EmittingChain.begin()
    for count in (1, 2, 3):
        for index in range(count):
            chain.emit(EMITTERS[index], (index, count))
        chain.builder.seal()
    chain.builder.seal()
    chain.set_finality(safe=2, finalized=1)
    yield chain
    chain.close()


def find(
    chain: EmittingChain, wanted: LogFilter, limits: LogLimits | None = None
) -> list[dict[str, Any]]:
    search = LogSearch.of(chain.log_cache(), chain, wanted, limits)
    found = search.run()
    assert found == search.run_if_quick()
    return read(found)


def blocks_of(chain: EmittingChain, value: dict[str, object]) -> list[int]:
    return [int(log["blockNumber"], 16) for log in find(chain, LogFilter.parse(value))]


def block_range(chain: EmittingChain, value: dict[str, object]) -> BlockRange:
    return resolve_range(LogFilter.parse(value), chain)


# Which blocks


def test_a_missing_bound_is_the_latest_block(chain: EmittingChain) -> None:
    assert block_range(chain, {}) == BlockRange(4, 4)
    assert block_range(chain, {"fromBlock": "0x1"}) == BlockRange(1, 4)
    assert block_range(chain, {"toBlock": "0x1"}) == BlockRange(4, 1)


def test_numbers_above_the_head_are_capped(chain: EmittingChain) -> None:
    assert block_range(chain, {"fromBlock": "0x2", "toBlock": "0xffffffffffffffff"}) == BlockRange(
        2, 4
    )
    assert blocks_of(chain, {"fromBlock": "0xffffffffffffffff", "toBlock": "0x5"}) == []


def test_a_range_that_ends_before_it_begins_is_empty(chain: EmittingChain) -> None:
    assert blocks_of(chain, {"fromBlock": "0x3", "toBlock": "0x2"}) == []


def test_geth_rejects_numbers_of_a_range_that_ends_before_it_begins(chain: EmittingChain) -> None:
    limits = LogLimits(follows_geth=True)
    with pytest.raises(InvalidFilter, match=r"^invalid block range params$"):
        find(chain, LogFilter.parse({"fromBlock": "0x3", "toBlock": "0x2"}), limits)
    for wanted in ({"toBlock": "0x1"}, {"fromBlock": "latest", "toBlock": "0x1"}):
        assert find(chain, LogFilter.parse(wanted), limits) == []


@pytest.mark.parametrize(
    "wanted",
    [{"fromBlock": "0x9"}, {"fromBlock": "0x9", "toBlock": "0xa"}, {"fromBlock": "0x9", "toBlock": "0x1"}],
)  # fmt: skip
def test_on_an_l1_a_filter_that_begins_above_the_head_is_rejected(
    chain: EmittingChain, wanted: dict[str, str]
) -> None:
    text = r"^BlockOutOfRangeError: block height is 4 but requested was 9$"
    with pytest.raises(InvalidFilter, match=text):
        find(chain, LogFilter.parse(wanted), LogLimits(follows_geth=True))
    assert find(chain, LogFilter.parse(wanted)) == []


@pytest.mark.parametrize("topics", [[None], [None] * 3, [[], []], [ONE, None, None]])
def test_in_geth_an_open_position_demands_a_topic(
    chain: EmittingChain, topics: list[object]
) -> None:
    wanted = LogFilter.parse({"fromBlock": "0x0", "topics": topics})
    zk_stack, geth = find(chain, wanted), find(chain, wanted, LogLimits(follows_geth=True))
    assert geth == [log for log in zk_stack if len(log["topics"]) >= len(topics)]
    assert len(geth) < len(zk_stack) or len(topics) < 3


def test_an_unknown_block_hash_is_an_error(chain: EmittingChain) -> None:
    with pytest.raises(UnknownBlock):
        blocks_of(chain, {"blockHash": ONE})


# Which logs


# How much


@pytest.mark.parametrize(("limit", "last"), [(1, 1), (2, 1), (3, 2), (5, 2)])
def test_too_many_logs_name_the_range_that_fits(
    chain: EmittingChain, limit: int, last: int
) -> None:
    wanted = LogFilter(from_block=1, to_block=4)
    with pytest.raises(TooManyResults) as caught:
        find(chain, wanted, LogLimits(results=limit))
    advice = f"Try with this block range [0x1, {last:#x}]."
    assert str(caught.value) == f"Query returned more than {limit} results. {advice}"
    fitting = LogFilter(from_block=caught.value.first, to_block=caught.value.last)
    assert len(find(chain, fitting, LogLimits(results=limit))) <= limit


def test_as_many_logs_as_the_limit_fit(chain: EmittingChain) -> None:
    assert len(find(chain, LogFilter(from_block=0), LogLimits(results=6))) == 6


def test_a_single_block_has_no_limit(chain: EmittingChain) -> None:
    one_block = LogFilter(from_block=3, to_block=3)
    limits = LogLimits(results=1, blocks=1)
    assert len(find(chain, one_block, limits)) == 3


def test_a_range_may_be_limited_too(chain: EmittingChain) -> None:
    limits = LogLimits(blocks=2)
    assert find(chain, LogFilter(from_block=0, to_block=1), limits)
    with pytest.raises(TooManyBlocks) as caught:
        find(chain, LogFilter(from_block=1), limits)
    advice = "Try with this block range [0x1, 0x2]."
    assert str(caught.value) == f"Query covers more than 2 blocks. {advice}"


def test_a_block_that_was_replaced_while_it_was_read_is_unknown(chain: EmittingChain) -> None:
    query, replaced = LogFilter().query, Hash32(word(9))
    search = LogSearch(chain.log_cache(), query, BlockRange(3, 3), LogLimits(), replaced)
    for look in (search.run, search.run_if_quick):
        with pytest.raises(UnknownBlock):
            look()


# What is searched on the event loop


@pytest.fixture(scope="module")
def long_chain() -> Iterator[EmittingChain]:
    """Return a chain of 40 blocks, each with a log of the first emitter, and the last with one of the second."""
    chain = EmittingChain.begin()
    for number in range(40):
        chain.emit(EMITTERS[0], (number, 0))
        if number == 39:
            chain.emit(EMITTERS[1], (number, 0))
        chain.builder.seal()
    yield chain
    chain.close()


def quick(chain: EmittingChain, **wanted: object) -> int | None:
    """Return how many logs are found on the event loop, or None if the search is left to a worker."""
    search = LogSearch.of(chain.log_cache(), chain, LogFilter.parse({"fromBlock": "0x0", **wanted}))
    found = search.run_if_quick()
    return None if found is None else len(found)


@pytest.mark.parametrize(
    ("emitters", "found"),
    [(EMITTERS[1:2], 1), (EMITTERS[:1], None), (EMITTERS[1:3], None)],
    ids=["in one block", "in each block", "several"],
)
def test_one_value_that_few_of_many_blocks_have_is_searched_at_once(
    long_chain: EmittingChain, emitters: Sequence[Address], found: int | None
) -> None:
    assert quick(long_chain, address=[str(emitter) for emitter in emitters]) == found
