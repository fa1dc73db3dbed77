"""Filter objects: how they are read, and what is rejected."""

from __future__ import annotations

import re

import pytest

from entresol.chain.finality import BlockTag
from entresol.errors import InvalidFilter, MalformedValue, TooManyAlternatives
from entresol.rpc.types.log_filter import MAX_ALTERNATIVES, LogFilter, parse_query
from entresol.storage.log_index import LogQuery
from tests.support.chain.log_emitter import DOUBLE, SINGLE
from tests.support.hex_data import word

ONE, TWO = str(word(1)), str(word(2))


def test_an_empty_object_matches_any_log() -> None:
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
        ([ONE], ({word(1)},)),
        ([None, ONE], (set(), {word(1)})),
        ([[ONE, TWO]], ({word(1), word(2)},)),
        ([[], ONE], (set(), {word(1)})),
        ([[ONE, None], TWO], (set(), {word(2)})),
        ([ONE, None, [], None], ({word(1)}, set(), set(), set())),
        ([None, None], (set(), set())),
    ],
)
def test_topics_are_open_single_or_alternatives(
    topics: list[object], expected: tuple[set[bytes], ...]
) -> None:
    assert parse_query({"topics": topics}).topics == tuple(map(frozenset, expected))


@pytest.mark.parametrize("topics", [[None] * 5, [ONE] * 5])
def test_a_fifth_topic_is_rejected(topics: list[object]) -> None:
    with pytest.raises(InvalidFilter, match="More than four topics in filter"):
        LogFilter.parse({"topics": topics})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "a filter is an object"),
        ({"fromBlock": -1}, "fromBlock: a quantity is from 0 to 2^64 - 1, got -0x1"),
        ({"toBlock": "later"}, "toBlock: a quantity is written in hex digits, got 'later'"),
        ({"blockHash": "0x12"}, "blockHash: a hash is 32 bytes, got 1"),
        ({"address": "0x12"}, "address: an address is 20 bytes, got 1"),
        ({"address": [str(DOUBLE), None]}, r"address[1]: an address is a hex string, got null"),
        ({"topics": ONE}, "topics: topics are an array"),
        ({"topics": [None, 5]}, r"topics[1]: a hash is a hex string, got a number"),
        ({"topics": [[ONE, "0x"]]}, r"topics[0][1]: a hash is 32 bytes, got 0"),
    ],
)
def test_a_problem_names_its_path(value: object, problem: str) -> None:
    with pytest.raises(MalformedValue) as caught:
        LogFilter.parse(value)
    assert str(caught.value) == problem


@pytest.mark.parametrize("tag", BlockTag)
def test_every_tag_is_read(tag: BlockTag) -> None:
    assert LogFilter.parse({"fromBlock": tag.value}).from_block is tag


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"address": [1] * (MAX_ALTERNATIVES + 1)}, "address"),
        ({"topics": [[None, *[1] * (MAX_ALTERNATIVES + 1)]]}, "topics[0]"),
    ],
)
def test_a_filter_with_far_too_many_alternatives_is_not_even_read(
    value: dict[str, object], place: str
) -> None:
    with pytest.raises(TooManyAlternatives, match=f"^{re.escape(place)}: .* at most 10000"):
        LogFilter.parse(value)
