from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.chain.sealing.block_filler import INLINE_GAS, INLINE_TRANSACTIONS
from entresol.chain.sealing.pending_block import OpenBlock
from entresol.errors import InsufficientFunds, StoreFailed, StoreFull, SystemTransactionFailed
from entresol.primitives.headers import Header
from entresol.primitives.transactions import Transaction
from entresol.sequencer.automine import Automine, BlockSealer
from tests.support.chain.dev_chain import (
    ALICE,
    deposit,
    long_transaction,
    open_importing,
    roots,
    transaction,
)
from tests.support.chain.steering import revert
from tests.support.polling import PATIENCE_SECONDS

HEAVY = 30_000_000


async def idle(automine: Automine) -> None:
    """Wait until nothing is sealed in the background."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while automine.is_busy:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)


class Sender:
    """Sends transactions with automine, and remembers what it was told of each."""

    def __init__(self, chain: Chain) -> None:
        self.automine = Automine(chain, BlockSealer(chain))
        self.outcomes: dict[bytes, Exception | None] = {}
        self._chain = chain

    def send(self, *transactions: Transaction) -> None:
        for it in transactions:
            self._chain.add(it)
            self.automine.include(it.hash, self._reporter(it.hash))

    def _reporter(self, sent: bytes) -> Callable[[Exception | None], None]:
        def report(error: Exception | None) -> None:
            assert sent not in self.outcomes
            self.outcomes[sent] = error

        return report

    async def wait(self) -> None:
        await asyncio.sleep(0)
        await idle(self.automine)


def enqueue_heavy(chain: Chain, count: int) -> None:
    for number in range(count):
        chain.enqueue(deposit(number, gas_limit=HEAVY))


async def test_transactions_of_one_turn_share_a_block(chain: Chain) -> None:
    sender = Sender(chain)
    sender.send(transaction(0), transaction(0, by=1), transaction(1))
    assert chain.number == 0
    assert not sender.outcomes
    await sender.wait()
    assert list(sender.outcomes.values()) == [None] * 3
    await sender.automine.stop()
    assert chain.number == 1
    assert len(chain.blocks.record(1).transactions) == 3


async def test_many_are_sealed_in_the_background_and_later_ones_share_the_next_block(
    chain: Chain,
) -> None:
    sender, first = Sender(chain), 2 * INLINE_TRANSACTIONS
    sender.send(*(transaction(nonce) for nonce in range(first)))
    await asyncio.sleep(0)
    assert sender.automine.is_busy
    while chain.number == 0:
        await asyncio.sleep(0)
        if len(chain.pool) == first:
            sender.send(*(transaction(nonce, by=1) for nonce in range(10)))
    await sender.wait()
    assert set(sender.outcomes.values()) == {None}
    assert len(sender.outcomes) == first + 10
    await sender.automine.stop()
    assert chain.number <= 2
    chain.verify()


async def test_what_exceeds_the_gas_of_a_block_is_in_the_next_one(chain: Chain) -> None:
    chain.configure(chain.settings.__class__(gas_limit=250_000))

    sender = Sender(chain)
    sender.send(*(transaction(nonce) for nonce in range(30)))
    await sender.wait()
    assert list(sender.outcomes.values()) == [None] * 30
    await sender.automine.stop()
    sizes = [len(chain.blocks.record(it).transactions) for it in range(1, chain.number + 1)]
    assert sum(sizes) == 30
    assert len(sizes) > 3


async def test_arrival_decides_the_order_whatever_is_offered(chain: Chain) -> None:
    sent = [transaction(0), transaction(0, by=1, tip=5), transaction(1, tip=9)]

    sender = Sender(chain)
    sender.send(*sent)
    await sender.wait()
    await sender.automine.stop()
    assert [raw for raw, _ in chain.blocks.record(1).transactions] == [it.raw for it in sent]


async def test_a_sender_whose_transaction_no_block_can_include_does_not_wait(chain: Chain) -> None:
    sender, queued = Sender(chain), transaction(7, by=2)
    sender.send(*(transaction(nonce) for nonce in range(2 * INLINE_TRANSACTIONS)), queued)
    while queued.hash not in sender.outcomes:  # noqa: ASYNC110  # as soon as it is there
        await asyncio.sleep(0)
    assert queued.hash in chain.pool
    await sender.wait()
    await sender.automine.stop()


async def test_a_transaction_that_is_dropped_before_its_block_was_accepted_all_the_same(
    chain: Chain,
) -> None:
    """As anvil, which responds once the pool has a transaction: only a block that fails is the sender's error."""
    sender = Sender(chain)
    sender.send(transaction(0), transaction(0, by=1))
    chain.pool.remove(transaction(0).hash, "dropped by a developer, or evicted")
    await sender.wait()
    assert list(sender.outcomes.values()) == [None] * 2
    await sender.automine.stop()
    assert [it.hash for it in chain.blocks.record(1).decoded()] == [transaction(0, by=1).hash]


@pytest.mark.parametrize("count", [1, 2 * INLINE_TRANSACTIONS], ids=["inline", "background"])
async def test_a_failure_reaches_all_senders_and_their_transactions_leave_the_pool(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    def fail(*_: object, **_options: object) -> object:
        raise StoreFull(chain.blocks.path)

    monkeypatch.setattr(chain.ledger, "append", fail)
    monkeypatch.setattr(chain.ledger, "write", fail)
    sender = Sender(chain)
    sender.send(*(transaction(nonce) for nonce in range(count)))
    await sender.wait()
    assert len(sender.outcomes) == count
    assert all(isinstance(outcome, StoreFailed) for outcome in sender.outcomes.values())
    assert not len(chain.pool)
    monkeypatch.undo()
    sender.send(transaction(0, by=1))
    await sender.wait()
    assert chain.number == 1
    await sender.automine.stop()


@pytest.mark.parametrize("count", [1, 2 * INLINE_TRANSACTIONS], ids=["inline", "background"])
async def test_a_transaction_that_its_block_rejects_is_an_error_and_seals_no_empty_block(
    chain: Chain, count: int
) -> None:
    sender = Sender(chain)
    sender.send(*(transaction(nonce) for nonce in range(count)))
    # An edit that the pool does not see.
    chain.edits.apply(chain.ledger.latest, lambda overlay: overlay.set_balance(ALICE, 0))
    await sender.wait()
    first, *others = sender.outcomes.values()
    assert isinstance(first, InsufficientFunds)
    # They wait for a nonce now.
    assert others == [None] * (count - 1)
    await sender.automine.stop()
    assert (chain.number, transaction(0).hash in chain.pool) == (0, False)


async def test_a_rejected_transaction_does_not_keep_others_out_of_the_block(chain: Chain) -> None:
    sender = Sender(chain)
    sender.send(transaction(0), transaction(0, by=1))
    chain.edits.apply(chain.ledger.latest, lambda overlay: overlay.set_balance(ALICE, 0))
    await sender.wait()
    assert [type(outcome) for outcome in sender.outcomes.values()] == [
        InsufficientFunds,
        type(None),
    ]
    await sender.automine.stop()
    assert len(chain.blocks.record(1).transactions) == 1


async def test_stopping_tells_senders_that_their_transactions_are_in_no_block(chain: Chain) -> None:
    sender = Sender(chain)
    sender.send(*(transaction(nonce) for nonce in range(2 * INLINE_TRANSACTIONS)))
    await asyncio.sleep(0)
    await sender.automine.stop()
    assert not sender.automine.is_busy
    assert all(isinstance(outcome, StoreFailed) for outcome in sender.outcomes.values())
    assert chain.number == 0


async def test_senders_do_not_wait_once_automine_is_off(chain: Chain) -> None:
    sender = Sender(chain)
    sender.send(transaction(0))
    chain.schedule.seal_on_request()
    await sender.wait()
    assert list(sender.outcomes.values()) == [None]
    await sender.automine.stop()
    assert chain.number == 0


def test_light_deposits_are_sealed_at_once(chain: Chain) -> None:
    chain.enqueue(deposit(0, gas_limit=INLINE_GAS))
    Automine(chain, BlockSealer(chain)).seal()
    assert chain.number == 1


async def test_other_tasks_have_a_turn_after_each_block_of_heavy_deposits(chain: Chain) -> None:
    automine, seen = Automine(chain, BlockSealer(chain)), [0]
    enqueue_heavy(chain, 5)
    automine.seal()
    assert chain.number == 0
    while automine.is_busy:
        await asyncio.sleep(0)
        if chain.number != seen[-1]:
            seen.append(chain.number)
    await automine.stop()
    assert seen == [0, 1, 2, 3, 4, 5]
    chain.verify()


async def test_transactions_that_are_sent_beside_heavy_deposits_are_sealed_in_their_turn(
    chain: Chain,
) -> None:
    sender = Sender(chain)
    enqueue_heavy(chain, 3)
    sender.automine.seal()
    sender.send(transaction(0))
    assert chain.number == 0
    await sender.wait()
    assert sender.outcomes == {transaction(0).hash: None}
    assert chain.blocks.locate_transaction(transaction(0).hash) is not None
    await sender.automine.stop()


async def test_a_store_that_goes_on_failing_is_logged_once(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("entresol.sequencer.automine.RETRY_SECONDS", 0.0)
    failures = [StoreFull(chain.blocks.path), StoreFull(chain.blocks.path), StoreFailed("another")]
    write_open = chain.builder.write_open

    def fail(block: OpenBlock) -> object:
        if failures:
            raise failures.pop(0)
        return write_open(block)

    monkeypatch.setattr(chain.builder, "write_open", fail)
    automine = Automine(chain, BlockSealer(chain))
    enqueue_heavy(chain, 1)
    automine.seal()
    await idle(automine)
    failures.append(StoreFailed("another"))
    enqueue_heavy(chain, 1)
    automine.seal()
    await idle(automine)
    await automine.stop()
    full, another, again = [
        record.getMessage() for record in caplog.records if record.levelname == "ERROR"
    ]
    assert "no space left" in full
    # A block was sealed in between.
    assert another == again == "a block could not be sealed: another"


async def test_what_takes_longer_than_its_gas_does_not_keep_others_waiting(chain: Chain) -> None:
    sender = Sender(chain)
    sender.send(long_transaction(0), transaction(0, by=1))
    await asyncio.sleep(0)
    sender.send(transaction(1, by=1))
    await sender.wait()
    assert list(sender.outcomes.values()) == [None] * 3
    await sender.automine.stop()
    assert not len(chain.pool)
    chain.verify()


async def test_a_revert_while_a_block_is_built_leaves_no_empty_one_and_nobody_waiting(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal_work = BlockSealer.seal_work

    checkpoint = chain.history.mark()
    sender = Sender(chain)
    sender.send(transaction(0))
    await sender.wait()

    async def observed(self: BlockSealer, *, is_long: bool = False) -> Header | None:
        header = await seal_work(self, is_long=is_long)
        if not chain.pool and chain.number == 0:
            sender.send(transaction(0, by=1))
        return header

    monkeypatch.setattr(BlockSealer, "seal_work", observed)
    sender.send(long_transaction(1))
    # One turn starts the task, the next one the thread.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sender.automine.is_busy
    revert(chain, checkpoint)
    await sender.wait()
    await sender.automine.stop()
    assert not len(chain.pool)
    assert [it.hash for it in chain.blocks.record(1).decoded()] == [transaction(0, by=1).hash]


@pytest.mark.parametrize("is_deposit", [False, True], ids=["transaction", "deposit"])
async def test_what_arrives_while_an_empty_block_is_sealed_is_in_the_next_one(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, *, is_deposit: bool
) -> None:
    sender = Sender(chain)
    seal_work = BlockSealer.seal_work

    async def empty(_sealer: BlockSealer, **_options: bool) -> Header | None:
        monkeypatch.setattr(BlockSealer, "seal_work", seal_work)
        header = chain.builder.seal(limit=0)
        if is_deposit:
            chain.enqueue(deposit(0))
            sender.automine.seal()
        else:
            sender.send(transaction(0, by=1))
        return header

    monkeypatch.setattr(BlockSealer, "seal_work", empty)
    sender.send(long_transaction(0))
    await sender.wait()
    await sender.automine.stop()
    assert not len(chain.pool)
    assert len(chain.blocks.record(2).transactions) == 2


# Roots of L1, without which there is no block.


@pytest.fixture
def importing() -> Iterator[Chain]:
    opened = open_importing()
    yield opened
    opened.close()


async def test_roots_are_imported_when_the_sequencer_is_woken(importing: Chain) -> None:
    automine = Automine(importing, BlockSealer(importing))
    importing.filler.roots.extend(roots(150))
    automine.seal()
    await idle(automine)
    assert (importing.number, len(importing.filler.roots)) == (2, 0)


async def test_a_failing_import_is_the_error_of_senders_and_is_tried_again(
    importing: Chain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("entresol.sequencer.automine.RETRY_SECONDS", 0.0)

    sender = Sender(importing)
    importing.filler.roots.extend([*roots(1), *roots(1)])
    # Whoever wakes the sequencer is not to blame.
    sender.automine.seal()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while importing.failure is None:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    sender.send(transaction(0))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not sender.outcomes:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
    assert isinstance(sender.outcomes[transaction(0).hash], SystemTransactionFailed)
    assert (importing.number, len(importing.pool)) == (0, 0)
    importing.filler.roots.replace(roots(1))
    await idle(sender.automine)
    assert importing.number == 1
    (logged,) = [record.getMessage() for record in caplog.records]
    assert "could not be sealed" in logged
    assert "InteropRootAlreadyExists" in logged
    assert importing.failure is None
