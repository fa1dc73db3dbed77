"""The log index: the right blocks, in both directions, with as few seeks as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.primitives.records import BlockRecord
from entresol.storage.database.key_value import KeyValueStore
from entresol.storage.log_index import LogQuery, candidates, index_keys
from entresol.storage.store import Store
from tests.support.chain.records import Log, address, fill, record_after, transfer
from tests.support.hex_data import word
from tests.support.run.examples import examples

MAX_SEEKS = 10_000
"""More than any search here makes."""
few = settings(max_examples=examples(60))

addresses = st.integers(0, 2).map(address)
topics = st.integers(0, 3).map(word)
logs = st.tuples(addresses, st.lists(topics, max_size=4).map(tuple), st.just(b""))
blocks = st.lists(st.lists(logs, max_size=2), min_size=1, max_size=15)
queries = st.builds(
    LogQuery,
    addresses=st.frozensets(st.integers(0, 3).map(address), max_size=3),
    topics=st.lists(st.frozensets(topics, max_size=2), max_size=5).map(tuple),
)


def chain_with(logs_of_blocks: Sequence[Sequence[Log]]) -> list[BlockRecord]:
    """Return a chain whose blocks have these logs, all in one transaction each."""
    chain: list[BlockRecord] = []
    for logs in logs_of_blocks:
        parent = chain[-1] if chain else None
        transactions = [transfer(0)] if logs else []
        chain.append(record_after(parent, transactions=transactions, logs=[logs]))
    return chain


class CountingStore(KeyValueStore):
    """A key-value store that counts seeks, and ends a search that would go on for ever."""

    seeks = 0

    def first_at_least(self, key: bytes, prefix: bytes) -> tuple[bytes, bytes] | None:
        self._count()
        return super().first_at_least(key, prefix)

    def last_at_most(self, key: bytes, prefix: bytes) -> tuple[bytes, bytes] | None:
        self._count()
        return super().last_at_most(key, prefix)

    def _count(self) -> None:
        self.seeks += 1
        assert self.seeks < MAX_SEEKS, "the search does not end"


@contextmanager
def indexed(chain: Sequence[BlockRecord]) -> Iterator[CountingStore]:
    """Return the index of a chain, without the chain."""
    store = Store.temporary()
    store._db.close()
    engine = CountingStore(store._directory.database, durable=False)
    engine.write([(key, b"") for n, it in enumerate(chain) for key in index_keys(it, n)])
    yield engine
    engine.close()
    store.close()


def found_by(search: Iterator[int]) -> list[int]:
    """Return what a search finds, which has an end."""
    found = list(islice(search, MAX_SEEKS))
    assert len(found) < MAX_SEEKS, "the search does not end"
    return found


@few
@given(blocks, queries, st.integers(0, 16), st.integers(0, 16), st.booleans())
def test_the_matching_blocks_are_found_in_order(
    logs_of_blocks: list[list[Log]], query: LogQuery, first: int, last: int, newest_first: bool
) -> None:
    with indexed(chain_with(logs_of_blocks)) as engine:
        found = found_by(candidates(engine, query, first, last, newest_first=newest_first))
    wanted = [
        number
        for number, logs in enumerate(logs_of_blocks)
        if first <= number <= last and any(query.accepts(log[0], log[1]) for log in logs)
    ]
    # Different logs of a block may satisfy different criteria, so more may be found, never less.
    assert set(found) >= set(wanted)
    assert found == sorted(set(found), reverse=newest_first)
    assert all(first <= number <= last and logs_of_blocks[number] for number in found)


@few
@given(st.lists(st.lists(logs, max_size=1), min_size=1, max_size=15), queries, st.booleans())
def test_with_one_log_a_block_only_matching_blocks_are_found(
    logs_of_blocks: list[list[Log]], query: LogQuery, newest_first: bool
) -> None:
    with indexed(chain_with(logs_of_blocks)) as engine:
        found = found_by(candidates(engine, query, 0, 100, newest_first=newest_first))
    longer = [number for number in found if len(logs_of_blocks[number][0][1]) >= len(query.topics)]
    wanted = [n for n, logs in enumerate(logs_of_blocks) if any(query.accepts(*log[:2]) for log in logs)]  # fmt: skip
    assert longer == sorted(wanted, reverse=newest_first)


@pytest.mark.parametrize(
    ("query", "accepted"),
    [
        (LogQuery(), True),
        (LogQuery(addresses=frozenset({address(1), address(2)})), True),
        (LogQuery(addresses=frozenset({address(2)})), False),
        (LogQuery(topics=(frozenset({word(1)}),)), True),
        (LogQuery(topics=(frozenset({word(2)}),)), False),
        (LogQuery(topics=(frozenset(), frozenset({word(2), word(5)}))), True),
        (LogQuery(topics=(frozenset(), frozenset())), True),
        (LogQuery(topics=(frozenset(), frozenset(), frozenset())), False),
    ],
)
def test_a_query_matches_addresses_and_topic_positions(query: LogQuery, accepted: bool) -> None:
    assert query.accepts(address(1), (word(1), word(2))) is accepted


def test_five_topics_match_nothing(store: Store) -> None:
    fill(store, chain_with([[(address(1), (word(1),) * 4, b"")]]))
    assert list(store.blocks_with_logs(LogQuery(topics=(frozenset(),) * 5), 0, 9)) == []


# Every block has a log of `BUSY` with a common topic, and few have one of `QUIET` or a rare topic.
BUSY, QUIET = address(1), address(2)
COMMON, RARE = word(1), word(2)
BLOCKS = 100_000
MATCHES = [7, 30_000, 30_001, 99_998]


@pytest.fixture(scope="module")
def long_index() -> Iterator[CountingStore]:
    """Return the index of a long chain, without the chain."""
    store = Store.temporary()
    store._db.close()
    engine = CountingStore(store._directory.database, durable=False)
    usual = chain_with([[(BUSY, (COMMON,), b"")]])[0]
    special = chain_with([[(BUSY, (COMMON, RARE), b""), (QUIET, (RARE,), b"")]])[0]
    for start in range(0, BLOCKS, 1_000):
        numbers = range(start, start + 1_000)
        rows = [(key, b"") for n in numbers for key in index_keys(special if n in MATCHES else usual, n)]  # fmt: skip
        engine.write(rows)
    yield engine
    engine.close()
    store.close()


SPARSE = [
    LogQuery(addresses=frozenset({QUIET})),
    LogQuery(topics=(frozenset({RARE}),)),
    LogQuery(topics=(frozenset(), frozenset({RARE}))),
    LogQuery(addresses=frozenset({BUSY}), topics=(frozenset({COMMON}), frozenset({RARE}))),
    LogQuery(addresses=frozenset({QUIET, BUSY}), topics=(frozenset({RARE, COMMON}), frozenset({RARE}))),
]  # fmt: skip


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("query", SPARSE)
def test_a_sparse_filter_reads_only_where_it_may_match(
    long_index: CountingStore, query: LogQuery, newest_first: bool
) -> None:
    long_index.seeks = 0
    found = found_by(candidates(long_index, query, 0, BLOCKS, newest_first=newest_first))
    assert sorted(found) == MATCHES
    # Each match costs every address and topic a few steps, whatever lies between.
    terms = sum(map(len, query.criteria()))
    assert long_index.seeks <= 3 * terms * (len(MATCHES) + 1)


@pytest.mark.parametrize("newest_first", [False, True])
def test_the_first_match_is_yielded_before_the_others_are_searched(
    long_index: CountingStore, newest_first: bool
) -> None:
    long_index.seeks = 0
    query = LogQuery(addresses=frozenset({BUSY}), topics=(frozenset({COMMON}),))
    found = candidates(long_index, query, 0, BLOCKS - 1, newest_first=newest_first)
    assert long_index.seeks == 0
    assert next(found) == (BLOCKS - 1 if newest_first else 0)
    assert long_index.seeks == 2
    assert next(found) == (BLOCKS - 2 if newest_first else 1)
    assert long_index.seeks == 4


def test_only_a_passed_prefix_is_searched_again(long_index: CountingStore) -> None:
    long_index.seeks = 0
    many = frozenset({BUSY, *map(address, range(100, 200))})
    found = candidates(long_index, LogQuery(addresses=many), 0, 49)
    assert found_by(found) == list(range(50))
    # Once for each address, then once a block for the one that has it.
    assert long_index.seeks == 101 + 49


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_search_ends_with_its_range(long_index: CountingStore, newest_first: bool) -> None:
    long_index.seeks = 0
    query = LogQuery(addresses=frozenset({QUIET}))
    found = candidates(long_index, query, 8, 30_000, newest_first=newest_first)
    assert found_by(found) == [30_000]
    assert found_by(candidates(long_index, query, 9, 8, newest_first=newest_first)) == []
