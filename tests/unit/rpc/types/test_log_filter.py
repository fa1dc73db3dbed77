"""Filter objects: how they are read, which blocks they mean, and how much they may return."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.chain.finality import BlockTag
from entresol.errors import (
    EntresolError,
    HashAndRange,
    MalformedValue,
    TooManyAlternatives,
    TooManyBlocks,
    TooManyResults,
    TooManyTopics,
    UnknownBlock,
)
from entresol.primitives.values import Hash32
from entresol.rpc.cache.logs import LogCache
from entresol.rpc.render.inclusion import NoBatches
from entresol.rpc.types.log_filter import (
    MOST_ALTERNATIVES,
    LogFilter,
    LogLimits,
    LogSearch,
    Span,
    parse_query,
)
from entresol.storage.log_index import LogQuery
from tests.support.chain.log_emitter import (
    DOUBLE,
    EMITTERS,
    SILENT,
    SINGLE,
    EmittingChain,
    read,
    topic,
)

ONE, TWO = str(topic(1)), str(topic(2))


@pytest.fixture(scope="module")
def chain() -> Iterator[EmittingChain]:
    """Return a chain with one, two and three logs in blocks 1, 2 and 3, and none in block 4."""
    chain = EmittingChain.begin()
    for count in (1, 2, 3):
        for index in range(count):
            chain.emit(EMITTERS[index], (index, count))
        chain.seal()
    chain.seal()
    chain.confirm(safe=2, finalized=1)
    yield chain
    chain.close()


def find(
    chain: EmittingChain, wanted: LogFilter, limits: LogLimits | None = None
) -> list[dict[str, Any]]:
    search = LogSearch.of(chain.log_cache(), chain, wanted, limits)
    found = search.run()
    assert found == search.at_once()
    return read(found)


def blocks_of(chain: EmittingChain, value: dict[str, object]) -> list[int]:
    return [int(it["blockNumber"], 16) for it in find(chain, LogFilter.parse(value))]


def span(chain: EmittingChain, value: dict[str, object]) -> Span:
    return LogFilter.parse(value).resolve(chain, chain.ledger.store)


# Reading


def test_an_empty_object_asks_for_any_log() -> None:
    assert LogFilter.parse({}) == LogFilter()
    nulls = dict.fromkeys(["fromBlock", "toBlock", "blockHash", "address", "topics"])
    assert LogFilter.parse({**nulls, "limit": 5}) == LogFilter()


def test_addresses_are_one_or_many() -> None:
    assert parse_query({"address": str(DOUBLE)}) == LogQuery(addresses=frozenset({DOUBLE}))
    both = frozenset({DOUBLE, SINGLE})
    assert parse_query({"address": [str(DOUBLE), str(SINGLE)]}) == LogQuery(addresses=both)
    assert parse_query({"address": []}) == LogQuery()


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ([], ()),
        ([ONE], ({topic(1)},)),
        ([None, ONE], (set(), {topic(1)})),
        ([[ONE, TWO]], ({topic(1), topic(2)},)),
        ([[], ONE], (set(), {topic(1)})),
        ([[ONE, None], TWO], (set(), {topic(2)})),
        ([ONE, None, [], None], ({topic(1)},)),
        ([None, None], ()),
    ],
)
def test_topics_are_open_single_or_alternatives(
    topics: list[object], expected: tuple[set[bytes], ...]
) -> None:
    assert parse_query({"topics": topics}).topics == tuple(map(frozenset, expected))


@pytest.mark.parametrize("topics", [[None] * 5, [ONE] * 5])
def test_a_fifth_topic_is_rejected(topics: list[object]) -> None:
    with pytest.raises(TooManyTopics, match="More than four topics in filter"):
        LogFilter.parse({"topics": topics})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "a filter is an object"),
        ({"fromBlock": 1}, "fromBlock: a quantity is a hex string, got a number"),
        ({"toBlock": "later"}, "toBlock: a quantity is written in hex digits, got 'later'"),
        ({"blockHash": "0x12"}, "blockHash: a hash is 32 bytes, got 1"),
        ({"address": "0x12"}, "address: an address is 20 bytes, got 1"),
        (
            {"address": [str(DOUBLE), None]},
            r"address[1]: an address is a hex string, got null",
        ),
        ({"topics": ONE}, "topics: topics are an array"),
        ({"topics": [None, 5]}, r"topics[1]: a hash is a hex string, got a number"),
        ({"topics": [[ONE, "0x"]]}, r"topics[0][1]: a hash is 32 bytes, got 0"),
    ],
)
def test_a_problem_names_its_place(value: object, problem: str) -> None:
    with pytest.raises(MalformedValue) as caught:
        LogFilter.parse(value)
    assert str(caught.value) == problem


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(ONE),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
_keys = st.sampled_from(["fromBlock", "toBlock", "blockHash", "address", "topics", "other"])


@given(_json | st.dictionaries(_keys, _json))
def test_any_json_is_read_or_rejected(value: object) -> None:
    with contextlib.suppress(EntresolError):
        assert isinstance(LogFilter.parse(value), LogFilter)


# Which blocks


def test_what_is_not_said_is_the_latest_block(chain: EmittingChain) -> None:
    assert span(chain, {}) == Span(4, 4)
    assert span(chain, {"fromBlock": "0x1"}) == Span(1, 4)
    assert span(chain, {"toBlock": "0x1"}) == Span(4, 1)


def test_numbers_above_the_head_are_capped(chain: EmittingChain) -> None:
    assert span(chain, {"fromBlock": "0x2", "toBlock": "0xffffffffffffffff"}) == Span(2, 4)
    assert blocks_of(chain, {"fromBlock": "0xffffffffffffffff", "toBlock": "0x5"}) == []


def test_a_range_that_ends_before_it_begins_is_empty(chain: EmittingChain) -> None:
    assert blocks_of(chain, {"fromBlock": "0x3", "toBlock": "0x2"}) == []


def test_65_logs_by_block_hash_equal_those_by_number(chain: EmittingChain) -> None:
    block_hash = str(chain.ledger.header(3).hash())
    by_hash = find(chain, LogFilter.parse({"blockHash": block_hash}))
    numbers = {"fromBlock": "0x3", "toBlock": "0x3"}
    assert by_hash == find(chain, LogFilter.parse(numbers))
    assert len(by_hash) == 3


@pytest.mark.parametrize("key", ["fromBlock", "toBlock"])
def test_65_a_block_hash_and_a_range_exclude_each_other(key: str) -> None:
    problem = "^invalid filter: if blockHash is supplied fromBlock and toBlock must not be$"
    with pytest.raises(HashAndRange, match=problem):
        LogFilter.parse({"blockHash": ONE, key: "0x1"})


def test_an_unknown_block_hash_is_an_error(chain: EmittingChain) -> None:
    with pytest.raises(UnknownBlock):
        blocks_of(chain, {"blockHash": ONE})


def test_66_tags_and_numbers_without_prefix_are_accepted(chain: EmittingChain) -> None:
    assert blocks_of(chain, {"fromBlock": "earliest", "toBlock": "1"}) == [1]
    assert blocks_of(chain, {"fromBlock": "earliest", "toBlock": "finalized"}) == [1]
    assert blocks_of(chain, {"fromBlock": "earliest", "toBlock": "safe"}) == [1, 2, 2]
    everything = [1, 2, 2, 3, 3, 3]
    for last in ("committed", "latest", "pending"):
        assert blocks_of(chain, {"fromBlock": "earliest", "toBlock": last}) == everything


@pytest.mark.parametrize("tag", BlockTag)
def test_every_tag_is_read(tag: BlockTag) -> None:
    assert LogFilter.parse({"fromBlock": tag.value}).first is tag


# Which logs


@pytest.mark.parametrize(
    ("criteria", "places"),
    [
        ({"address": str(SILENT)}, [(1, 0), (2, 0), (3, 0)]),
        ({"address": [str(DOUBLE), str(SINGLE)]}, [(2, 1), (3, 1), (3, 2)]),
        ({"topics": [ONE]}, [(2, 1), (3, 1)]),
        ({"topics": [[ONE, TWO]]}, [(2, 1), (3, 1), (3, 2)]),
        ({"topics": [None, str(topic(3))]}, [(3, 2)]),
        ({"topics": [None, None]}, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]),
        ({"address": str(SINGLE), "topics": [TWO]}, []),
    ],
)
def test_logs_are_found_by_address_and_topics(
    chain: EmittingChain, criteria: dict[str, object], places: list[tuple[int, int]]
) -> None:
    wanted = LogFilter.parse({"fromBlock": "0x0", **criteria})
    found = find(chain, wanted)
    assert [(int(it["blockNumber"], 16), int(it["logIndex"], 16)) for it in found] == places


# How much


@pytest.mark.parametrize(("limit", "last"), [(1, 1), (2, 1), (3, 2), (5, 2)])
def test_too_many_logs_name_the_range_that_fits(
    chain: EmittingChain, limit: int, last: int
) -> None:
    wanted = LogFilter(first=1, last=4)
    with pytest.raises(TooManyResults) as caught:
        find(chain, wanted, LogLimits(results=limit))
    advice = f"Try with this block range [0x1, {last:#x}]."
    assert str(caught.value) == f"Query returned more than {limit} results. {advice}"
    fitting = LogFilter(first=caught.value.first, last=caught.value.last)
    assert len(find(chain, fitting, LogLimits(results=limit))) <= limit


def test_as_many_logs_as_the_limit_fit(chain: EmittingChain) -> None:
    assert len(find(chain, LogFilter(first=0), LogLimits(results=6))) == 6


def test_a_single_block_has_no_limit(chain: EmittingChain) -> None:
    one_block = LogFilter(first=3, last=3)
    limits = LogLimits(results=1, blocks=1)
    assert len(find(chain, one_block, limits)) == 3


def test_a_range_may_be_limited_too(chain: EmittingChain) -> None:
    limits = LogLimits(blocks=2)
    assert find(chain, LogFilter(first=0, last=1), limits)
    with pytest.raises(TooManyBlocks) as caught:
        find(chain, LogFilter(first=1), limits)
    advice = "Try with this block range [0x1, 0x2]."
    assert str(caught.value) == f"Query covers more than 2 blocks. {advice}"


def test_a_block_that_was_replaced_while_it_was_read_is_unknown(chain: EmittingChain) -> None:
    class Confused(LogCache):
        def block_number(self, block_hash: bytes) -> int:  # noqa: ARG002 - the interface has it
            return 3

    wanted = LogFilter(block_hash=Hash32(topic(9)))
    search = LogSearch.of(Confused(chain.ledger.store, NoBatches()), chain, wanted)
    for look in (search.run, search.at_once):
        with pytest.raises(UnknownBlock):
            look()


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"address": [1] * (MOST_ALTERNATIVES + 1)}, "address"),
        ({"topics": [[None, *[1] * (MOST_ALTERNATIVES + 1)]]}, "topics[0]"),
    ],
)
def test_what_names_far_too_much_is_not_even_read(value: dict[str, object], place: str) -> None:
    with pytest.raises(TooManyAlternatives, match=f"^{re.escape(place)}: .* at most 10000"):
        LogFilter.parse(value)
