"""Roots of L1 in blocks: by one transaction of the node, the first of its block, which may not fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.sealing.l1_queues import MAX_QUEUED_ROOTS, PriorityQueue, RootQueue
from entresol.errors import SystemTransactionFailed
from entresol.primitives.interop_roots import MAX_ROOTS_PER_IMPORT, InteropRoot
from entresol.primitives.records import roots_of
from entresol.primitives.transactions import Transaction
from entresol.primitives.transactions.system import SYSTEM_SENDER, SYSTEM_TYPE
from entresol.primitives.values import Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    GENESIS_NONCE,
    NOBODY,
    balance,
    deposit,
    open_importing,
    root,
    roots,
    stored_root,
    system_nonce,
    transaction,
)


@pytest.fixture
def chain() -> Iterator[Chain]:
    chain = open_importing()
    chain.schedule.seal_on_request()
    yield chain
    chain.close()


def test_a_queue_takes_as_many_roots_as_it_has_room_for() -> None:
    queue = RootQueue()
    assert queue.extend(roots(MAX_QUEUED_ROOTS - 1)) == MAX_QUEUED_ROOTS - 1
    assert queue.extend(roots(5, first=MAX_QUEUED_ROOTS)) == 1
    assert (len(queue), queue.last) == (MAX_QUEUED_ROOTS, root(MAX_QUEUED_ROOTS))


def test_a_block_imports_what_is_queued_before_anything_else(chain: Chain) -> None:
    InlineSequencer(chain).submit(transaction(0).raw)
    chain.enqueue(deposit(0))
    chain.filler.roots.extend(roots(3))
    header = chain.builder.seal()
    record = chain.blocks.record(header.number)
    assert [raw[0] for raw, _ in record.transactions] == [SYSTEM_TYPE, 0xFF, 2]
    assert record.transactions[0][1] == SYSTEM_SENDER
    assert roots_of(record) == roots(3)
    assert [stored_root(chain, number) for number in (1, 2, 3, 4)] == [
        *(it.root for it in roots(3)),
        Hash32.zero(),
    ]
    assert not chain.filler.roots
    chain.verify()


def test_it_has_no_status_for_l1(chain: Chain) -> None:
    chain.filler.roots.extend(roots(2))
    chain.builder.seal()
    (result,) = chain.blocks.record(1).results
    assert (len(result.logs), result.l2_to_l1_logs) == (2, ())


def test_salts_are_the_nonces_of_the_sender(chain: Chain) -> None:
    hashes = set()
    for number in range(1, 4):
        chain.filler.roots.extend(roots(1, first=number))
        chain.builder.seal()
        sent = chain.blocks.record(number).transaction(0)
        assert sent.payload.nonce == GENESIS_NONCE + number - 1
        hashes.add(sent.hash)
    assert (len(hashes), system_nonce(chain)) == (3, GENESIS_NONCE + 3)


def test_more_roots_than_a_transaction_has_are_in_several_blocks(chain: Chain) -> None:
    chain.filler.roots.extend(roots(250))
    chain.builder.seal_pending()
    counts = [len(roots_of(chain.blocks.record(number))) for number in (1, 2, 3)]
    assert (counts, chain.number) == ([MAX_ROOTS_PER_IMPORT, MAX_ROOTS_PER_IMPORT, 50], 3)
    chain.verify()


@pytest.mark.parametrize("count", [1, MAX_ROOTS_PER_IMPORT])
def test_a_block_with_a_low_gas_limit_has_room_for_roots_and_for_a_deposit(count: int) -> None:
    chain = open_importing(gas_limit=100_000)
    chain.schedule.seal_on_request()
    chain.enqueue(deposit(0, gas_limit=100_000))
    chain.filler.roots.extend(roots(count))
    header = chain.builder.seal()
    record = chain.blocks.record(1)
    assert [result.succeeded for result in record.results] == [True, True]
    assert header.gas_used < header.gas_limit
    assert chain.builder.seal().gas_limit == 100_000
    chain.verify()
    chain.close()


def test_the_pending_block_imports_them(chain: Chain) -> None:
    assert not chain.builder.pending().transactions
    chain.filler.roots.extend(roots(2))
    assert chain.filler.has_work
    (pending,) = chain.builder.pending().transactions
    assert pending.type == SYSTEM_TYPE
    assert chain.builder.cached_pending() is not None
    chain.filler.roots.extend(roots(1, first=3))
    assert chain.builder.cached_pending() is None
    assert len(chain.filler.roots) == 3


def test_a_block_with_roots_that_are_replaced_meanwhile_is_not_sealed(chain: Chain) -> None:
    chain.filler.roots.extend(roots(2))
    block = chain.builder.open_block()
    while block.prepare():
        block.execute()
    chain.filler.roots.replace(roots(2, first=5))
    assert chain.builder.write_open(block) is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (root(1), "InteropRootAlreadyExists(31337, 1)"),
        (root(2)._replace(sides=(Hash32.zero(),)), "InteropRootIsZero()"),
        (root(2)._replace(timestamp=0), "InteropTimestampIsZero()"),
    ],
)
def test_an_import_that_reverts_stops_blocks_with_its_name(
    chain: Chain, bad: InteropRoot, reason: str
) -> None:
    chain.filler.roots.extend(roots(1))
    chain.builder.seal()
    InlineSequencer(chain).submit(transaction(0).raw)
    chain.filler.roots.extend([bad])
    with pytest.raises(SystemTransactionFailed) as failed:
        chain.builder.seal()
    assert reason in str(failed.value)
    assert (chain.failure, chain.number, len(chain.filler.roots)) == (failed.value, 1, 1)
    with pytest.raises(SystemTransactionFailed):
        chain.builder.pending()
    chain.filler.roots.replace(roots(1, first=7))
    chain.builder.seal()
    assert (chain.failure, chain.number) == (None, 2)
    assert len(chain.blocks.record(2).transactions) == 2


def test_roots_of_reverted_blocks_are_neither_queued_nor_pooled(chain: Chain) -> None:
    mark = chain.history.mark()
    chain.filler.roots.extend(roots(2))
    chain.builder.seal()
    chain.filler.roots.extend(roots(1, first=3))
    chain.history.rewind(0)
    assert (len(chain.filler.roots), len(chain.pool)) == (0, 0)
    chain.filler.roots.extend(roots(2))
    chain.builder.seal()
    chain.filler.roots.extend(roots(1, first=3))
    chain.history.unwind(mark, None, chain.ledger.reverted_by(0))
    assert (len(chain.filler.roots), len(chain.pool)) == (0, 0)
    assert stored_root(chain, 1) == Hash32.zero()
    assert system_nonce(chain) == GENESIS_NONCE


def test_a_rewind_returns_users_transactions_and_no_import(chain: Chain) -> None:
    InlineSequencer(chain).submit(transaction(0).raw)
    chain.filler.roots.extend(roots(1))
    chain.builder.seal()
    chain.history.rewind(0)
    assert [it.hash for it in chain.pool.best()] == [transaction(0).hash]
    chain.builder.seal()
    assert balance(chain, NOBODY) == 1


QUEUED = [Transaction.from_l1(deposit(number)) for number in range(5)]


def queue_of(*queued: Transaction) -> PriorityQueue:
    queue = PriorityQueue()
    for deposited in queued:
        queue.append(deposited)
    return queue


def test_one_is_found_by_its_hash_until_its_turn_is_over() -> None:
    queue = queue_of(*QUEUED)
    assert queue.get(QUEUED[0].hash) is QUEUED[0]
    assert queue.get(bytes(QUEUED[3].hash)) is QUEUED[3]
    queue.pop_first()
    assert queue.get(QUEUED[0].hash) is None
    assert queue.first is QUEUED[1]


def test_what_is_put_back_comes_before_all_others_in_its_own_order() -> None:
    queue = queue_of(*QUEUED[2:])
    queue.push_front(QUEUED[:2])
    assert list(queue) == QUEUED
    assert queue.last is QUEUED[4]


def test_a_transaction_is_queued_again_once() -> None:
    queue = queue_of(*QUEUED[:3])
    queue.push_front(QUEUED[:2])
    assert list(queue) == QUEUED[:3]
