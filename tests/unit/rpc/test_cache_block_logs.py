"""The logs of one block: which ones a query means, and what they take."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from entresol.chain.logs import logs_of_block
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.values import Address
from entresol.rpc.cache import BlockLogs
from entresol.rpc.render.chain_objects import located_log_json
from entresol.storage.log_index import LogQuery
from tests.support.chain.dev_chain import LOGGER, NOBODY
from tests.support.chain.sample_chain import SENDERS, SampleChain

SENDER_TOPIC = SENDERS[2].rjust(32, b"\0")


def query(*addresses: Address, topics: tuple[set[bytes], ...] = ()) -> LogQuery:
    return LogQuery(addresses=frozenset(addresses), topics=tuple(map(frozenset, topics)))


@pytest.mark.parametrize(
    "wanted",
    [
        query(),
        query(LOGGER),
        query(LOGGER, NOBODY),
        query(NOBODY),
        query(topics=({SENDER_TOPIC},)),
        query(LOGGER, topics=({SENDER_TOPIC},)),
        query(topics=(set(), set(), set(), {b"\1" * 32})),
    ],
)
def test_a_query_finds_what_a_plain_scan_finds(sample: SampleChain, wanted: LogQuery) -> None:
    plain = [located_log_json(log, None) for log in logs_of_block(sample.record, wanted)]
    logs = BlockLogs(sample.record, None)
    assert list(logs.matching(wanted)) == plain
    assert list(logs.matching(wanted)) == plain


def test_a_log_is_rendered_once_and_only_if_it_matches(sample: SampleChain) -> None:
    logs = BlockLogs(sample.record, None)
    assert logs.cost == len(logs)
    (one,) = logs.matching(query(topics=({SENDER_TOPIC},)))
    assert logs.cost == len(logs) - 1
    everything = list(logs.matching(query()))
    assert any(log is one for log in everything)
    assert all(a is b for a, b in zip(everything, logs.matching(query()), strict=True))
    assert logs.cost == 0


def test_a_cached_block_with_many_logs_still_costs(sample: SampleChain) -> None:
    logs = BlockLogs(with_logs(sample.record, count=3_200, data=b""), None)
    assert logs.cost == 3_400
    assert len(list(logs.matching(query()))) == 3_200
    assert logs.cost == 200


def test_a_block_without_logs_has_none(sample: SampleChain) -> None:
    logs = BlockLogs(sample.chain.blocks.record(1), None)
    assert len(logs) == logs.cost == 0
    assert list(logs.matching(query())) == []


@pytest.mark.parametrize("size", [0, 32, 1_000, 50_000])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_it_takes_no_more_memory_than_its_weight(
    sample: SampleChain, size: int, count: int
) -> None:
    data = with_logs(sample.record, count=count, data=b"\xab" * size).encode()
    gc.collect()
    tracemalloc.start()
    try:
        logs = BlockLogs(BlockRecord.decode(data), None)
        texts = list(logs.matching(query()))
        gc.collect()
        del texts
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken <= logs.weight
    assert logs.weight < 4 * max(taken, 4_096)


def with_logs(record: BlockRecord, count: int, data: bytes) -> BlockRecord:
    """Return a block like `record` whose first transaction emitted so many logs with four topics."""
    topics = tuple(bytes([number]) * 32 for number in range(4))
    log = bytes(LOGGER), topics, data
    first = TransactionResult(succeeded=True, gas_used=21_000, logs=(log,) * count)
    rest = tuple(TransactionResult(succeeded=True, gas_used=21_000) for _ in record.results[1:])
    return BlockRecord(
        record.header_rlp, record.transactions, (first, *rest), record.changes, record.codes
    )
