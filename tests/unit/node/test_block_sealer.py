from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from entresol.chain import pool_inclusion
from entresol.chain.chain import Chain
from entresol.chain.open_block import OpenBlock
from entresol.errors import StoreFull
from entresol.execution.block_executor import BlockExecutor
from entresol.node import block_sealer as module
from entresol.node.block_sealer import INLINE_GAS, BlockSealer
from entresol.primitives.records import TransactionResult
from entresol.primitives.transactions import Transaction
from entresol.rpc.jsonrpc.offload import Deferred
from entresol.rpc.services.submission import Submission
from tests.support.chain.dev_chain import deposit, open_chain, transaction
from tests.support.polling import PATIENCE_SECONDS

HEAVY = 30_000_000


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = open_chain()
    yield opened
    opened.close()


def enqueue_heavy(chain: Chain, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        chain.enqueue(deposit(number, gas_limit=HEAVY))


def test_light_deposits_are_sealed_at_once(chain: Chain) -> None:
    chain.enqueue(deposit(0, gas_limit=INLINE_GAS))
    BlockSealer(chain).automine()
    assert chain.number == 1


def test_other_tasks_have_a_turn_after_each_block_of_heavy_deposits(chain: Chain) -> None:
    async def live() -> list[int]:
        sealer, seen = BlockSealer(chain), [0]
        enqueue_heavy(chain, 5)
        sealer.automine()
        assert chain.number == 0
        while sealer.is_busy:
            await asyncio.sleep(0)
            if chain.number != seen[-1]:
                seen.append(chain.number)
        await sealer.stop()
        return seen

    assert asyncio.run(live()) == [0, 1, 2, 3, 4, 5]
    chain.verify()


def test_transactions_that_are_sent_meanwhile_are_sealed_in_their_turn(chain: Chain) -> None:
    async def live() -> None:
        sealer = BlockSealer(chain)
        chain.automine = sealer.automine
        enqueue_heavy(chain, 3)
        sealer.automine()
        sent = chain.submit(transaction(0).raw)
        assert chain.number == 0
        await asyncio.wait_for(sealer.drain(), PATIENCE_SECONDS)
        assert chain.blocks.locate_transaction(sent) is not None
        # Nothing is heavy any more, so the next one is sealed at once.
        sent = chain.submit(transaction(1).raw)
        assert chain.blocks.locate_transaction(sent) is not None
        await sealer.stop()

    asyncio.run(live())


def test_a_sender_is_answered_once_what_is_sealed_meanwhile_is_durable(chain: Chain) -> None:
    async def live() -> None:
        sealer, submission = BlockSealer(chain), Submission(chain)
        chain.automine, chain.sealing = sealer.automine, sealer.sealing
        enqueue_heavy(chain, 3)
        sealer.automine()
        raw = submission.submit(transaction(0).raw)
        assert isinstance(raw, Deferred)
        sent = await asyncio.wait_for(submission.send(transaction(1)), PATIENCE_SECONDS)
        for it in (await raw.result, sent):
            assert chain.blocks.locate_transaction(it) is not None
        # Nothing is sealed in the background any more, so the next response is immediate.
        assert submission.submit(transaction(2).raw) == transaction(2).hash
        await sealer.stop()

    asyncio.run(live())


def test_a_block_is_built_again_if_the_chain_changes_meanwhile(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_block, opened = chain.open_block, []

    def counted() -> object:
        opened.append(chain.number)
        return open_block()

    async def live() -> None:
        monkeypatch.setattr(chain, "open_block", counted)
        sealer = BlockSealer(chain)
        enqueue_heavy(chain, 2)
        sealing = asyncio.create_task(sealer.seal())
        await asyncio.sleep(0)
        chain.seal(limit=0)
        assert (await sealing).number == 2
        await sealer.stop()

    asyncio.run(live())
    assert opened == [0, 1]


def test_a_client_that_always_changes_the_chain_does_not_stop_it(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        sealer = BlockSealer(chain)
        monkeypatch.setattr(chain, "seal_open", lambda _block: None)
        enqueue_heavy(chain, 1)
        assert (await sealer.seal()).number == 1
        await sealer.stop()

    asyncio.run(live())


def test_a_failure_in_the_background_is_logged_and_retried(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    seal_open, failures = chain.seal_open, [StoreFull(chain.blocks.path)]

    def fail_once(block: OpenBlock) -> object:
        if failures:
            raise failures.pop()
        return seal_open(block)

    async def live() -> None:
        monkeypatch.setattr(chain, "seal_open", fail_once)
        sealer = BlockSealer(chain)
        enqueue_heavy(chain, 2)
        sealer.automine()
        await asyncio.wait_for(sealer.drain(), PATIENCE_SECONDS)
        await sealer.stop()

    asyncio.run(live())
    assert chain.number == 2
    assert "a block could not be sealed: no space left" in caplog.text


def test_stopping_ends_what_is_in_the_background(chain: Chain) -> None:
    async def live() -> None:
        sealer = BlockSealer(chain)
        enqueue_heavy(chain, 50)
        sealer.automine()
        await asyncio.sleep(0)
        await sealer.stop()
        assert not sealer.is_busy

    asyncio.run(live())
    assert chain.number < 50


def submit_heavy(chain: Chain, senders: int = 3) -> None:
    """Leave transactions pending that may use more gas than is executed on the event loop."""
    chain.schedule.seal_on_request()
    for by in range(senders):
        for nonce in range(1 + INLINE_GAS // 100_000 // senders):
            chain.submit(transaction(nonce, by=by).raw)


def test_a_long_block_of_the_pool_executes_on_a_thread(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    run = BlockExecutor.run

    def observed(self: BlockExecutor, sent: Transaction) -> TransactionResult:
        threads.add(threading.current_thread().name)
        return run(self, sent)

    async def live() -> None:
        sealer = BlockSealer(chain)
        submit_heavy(chain)
        monkeypatch.setattr(BlockExecutor, "run", observed)
        header = await sealer.seal()
        assert header.gas_used > 21_000 * 30
        assert chain.head == header
        await sealer.stop()

    asyncio.run(live())
    assert {it.partition("_")[0] for it in threads} == {"seal"}
    chain.verify()


def test_a_block_that_others_seal_meanwhile_drops_no_transaction(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_inclusion, "PART_TRANSACTIONS", 4)

    async def live() -> None:
        sealer = BlockSealer(chain)
        submit_heavy(chain)
        count = len(chain.pool)
        sealing = asyncio.create_task(sealer.seal())
        for _ in range(3):
            await asyncio.sleep(0)
        chain.seal(limit=3)
        await sealing
        assert sum(len(chain.blocks.record(it).transactions) for it in (1, 2)) == count
        await sealer.stop()

    asyncio.run(live())
    chain.verify()
