from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import pytest

from entresol._native import Overlay
from entresol.chain.chain import Chain
from entresol.chain.sealing import pool_inclusion
from entresol.chain.sealing.block_builder import QUICK_EDITS
from entresol.chain.sealing.block_filler import INLINE_GAS
from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
from entresol.execution.limits import WorkBudget
from entresol.primitives.records import TransactionResult
from entresol.primitives.transactions import Transaction
from entresol.primitives.values import Address
from entresol.sequencer.automine import QUICK_SYNC_SECONDS, BlockSealer
from entresol.sequencer.local import LocalSequencer
from entresol.sequencer.sequencer import InlineSequencer
from entresol.state.state_trie import StateTrie
from entresol.storage.block_rows import rows_of
from tests.support.chain.dev_chain import balance, deposit, long_transaction, transaction
from tests.support.loop_time import run_in_virtual_time


async def test_a_block_is_built_again_if_the_chain_changes_meanwhile(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_block, opened = chain.builder.open_block, []

    def counted(budget: WorkBudget | None) -> object:
        opened.append(chain.number)
        return open_block(budget=budget)

    monkeypatch.setattr(chain.builder, "open_block", counted)
    sealer = BlockSealer(chain)
    for number in range(2):
        chain.enqueue(deposit(number, gas_limit=30_000_000))
    sealing = asyncio.create_task(sealer.seal())
    await asyncio.sleep(0)
    chain.builder.seal(limit=0)
    assert (await sealing).number == 2
    await sealer.stop()
    assert opened == [0, 1]


def submit_heavy(chain: Chain, senders: int = 3) -> None:
    """Leave transactions pending that may use more gas than is executed on the event loop."""
    chain.schedule.seal_on_request()
    for by in range(senders):
        for nonce in range(1 + INLINE_GAS // 100_000 // senders):
            InlineSequencer(chain).submit(transaction(nonce, by=by).raw)


async def test_a_long_block_of_the_pool_executes_on_a_thread(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    run = BlockExecutor.run

    def observed(self: BlockExecutor, sent: Transaction) -> TransactionResult:
        threads.add(threading.current_thread().name)
        return run(self, sent)

    sealer = BlockSealer(chain)
    submit_heavy(chain)
    monkeypatch.setattr(BlockExecutor, "run", observed)
    header = await sealer.seal()
    assert header.gas_used > 21_000 * 30
    assert chain.head == header
    await sealer.stop()
    assert {thread.partition("_")[0] for thread in threads} == {"seal"}
    chain.verify()


@pytest.mark.parametrize("is_disk_slow", [False, True], ids=["quick disk", "slow disk"])
@pytest.mark.parametrize("is_needed", [True, False], ids=["seal", "seal work"])
async def test_a_block_that_takes_longer_than_its_gas_begins_again_on_a_thread(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, *, is_disk_slow: bool, is_needed: bool
) -> None:
    threads = []
    run = BlockExecutor.run

    def observed(self: BlockExecutor, sent: Transaction) -> TransactionResult:
        threads.append(threading.current_thread().name.partition("_")[0])
        return run(self, sent)

    sealer = BlockSealer(chain)
    chain.schedule.seal_on_request()
    chain.enqueue(deposit(0))
    InlineSequencer(chain).submit(long_transaction(0).raw)
    if is_disk_slow:
        monkeypatch.setattr(type(chain.ledger.store), "sync_seconds", 2 * QUICK_SYNC_SECONDS)
    monkeypatch.setattr(BlockExecutor, "run", observed)
    header = await (sealer.seal() if is_needed else sealer.seal_work())
    assert header == chain.head
    await sealer.stop()
    assert threads == ["MainThread", "MainThread", "seal", "seal"]
    assert len(chain.blocks.record(1).transactions) == 2
    assert not chain.filler.has_work
    chain.verify()


async def test_a_client_that_always_changes_the_chain_does_not_stop_a_block_that_takes_long(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealer = BlockSealer(chain)
    chain.schedule.seal_on_request()
    InlineSequencer(chain).submit(long_transaction(0).raw)
    monkeypatch.setattr(chain.builder, "write_open", lambda _block: None)
    assert (await sealer.seal()).number == 1
    await sealer.stop()
    assert not len(chain.pool)


async def test_a_block_that_others_seal_meanwhile_drops_no_transaction(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_inclusion, "PART_TRANSACTIONS", 4)

    sealer = BlockSealer(chain)
    submit_heavy(chain)
    count = len(chain.pool)
    sealing = asyncio.create_task(sealer.seal())
    for _ in range(3):
        await asyncio.sleep(0)
    chain.builder.seal(limit=3)
    await sealing
    assert sum(len(chain.blocks.record(it).transactions) for it in (1, 2)) == count
    await sealer.stop()
    chain.verify()


async def test_a_thread_waits_for_a_slow_disk(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    store = chain.ledger.store
    monkeypatch.setattr(type(store), "sync_seconds", 2 * QUICK_SYNC_SECONDS)
    monkeypatch.setattr(store, "sync", lambda: threads.append(threading.current_thread().name))

    sealer = BlockSealer(chain)
    chain.schedule.seal_on_request()
    InlineSequencer(chain).submit(transaction(0).raw)
    assert (await sealer.seal()).number == 1
    await sealer.stop()
    assert [thread.partition("_")[0] for thread in threads] == ["seal"]
    chain.verify()


@pytest.mark.parametrize(("edited", "on_thread"), [(QUICK_EDITS, False), (QUICK_EDITS + 1, True)])
async def test_the_roots_of_many_edits_are_computed_on_a_thread(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, edited: int, on_thread: bool
) -> None:
    finish, threads = BlockExecutor.finish, []

    def recorded(self: BlockExecutor, trie: StateTrie) -> ExecutedBlock:
        threads.append(threading.current_thread())
        return finish(self, trie)

    monkeypatch.setattr(BlockExecutor, "finish", recorded)
    addresses = [Address(number.to_bytes(20)) for number in range(1, edited + 1)]

    def change(overlay: Overlay) -> None:
        for address in addresses:
            overlay.set_balance(address, 7)

    chain.edit(addresses[0], change, *addresses[1:])
    sealer = BlockSealer(chain)
    assert (await sealer.seal()).number == 1
    await sealer.stop()
    assert [thread is not threading.main_thread() for thread in threads] == [on_thread]
    assert balance(chain, addresses[-1]) == 7
    assert not chain.builder.is_heavy


def edit_many(chain: Chain, balance_of_each: int) -> list[Address]:
    """Edit more accounts than are laid out on the event loop, and return them."""
    addresses = [Address(number.to_bytes(20)) for number in range(1, QUICK_EDITS + 2)]

    def change(overlay: Overlay) -> None:
        for address in addresses:
            overlay.set_balance(address, balance_of_each)

    chain.edit(addresses[0], change, *addresses[1:])
    return addresses


async def test_many_edits_and_their_rows_are_laid_out_on_a_thread(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit, threads = BlockExecutor.edit, list[threading.Thread]()

    def edited(self: BlockExecutor, *arguments: Any) -> None:
        threads.append(threading.current_thread())
        edit(self, *arguments)

    def laid_out(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return rows_of(*arguments)

    addresses = edit_many(chain, 7)
    monkeypatch.setattr(BlockExecutor, "edit", edited)
    monkeypatch.setattr("entresol.storage.store.rows_of", laid_out)
    sealer = BlockSealer(chain)
    await sealer.seal()
    await sealer.stop()
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    assert balance(chain, addresses[-1]) == 7
    chain.verify()


async def test_a_block_with_many_edits_takes_the_place_of_a_reverted_one(chain: Chain) -> None:
    sealer = BlockSealer(chain)
    edit_many(chain, 7)
    await sealer.seal()
    chain.history.rewind(0)
    addresses = edit_many(chain, 8)
    await sealer.seal()
    assert balance(chain, addresses[-1]) == 8
    await sealer.stop()
    assert chain.number == 1
    chain.verify()


def test_the_pending_block_after_many_edits_is_not_quick(chain: Chain) -> None:
    assert chain.builder.is_pending_quick
    edit_many(chain, 7)
    assert not chain.builder.is_pending_quick


def looks(chain: Chain, monkeypatch: pytest.MonkeyPatch, seconds: float) -> int:
    """Return how often a chain is looked at in some seconds without requests."""
    recover, seen = chain.recover, []

    def counted() -> bool:
        seen.append(chain.number)
        return recover()

    async def live() -> None:
        monkeypatch.setattr(chain, "recover", counted)
        sequencer = LocalSequencer(chain)
        await sequencer.start()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), seconds)
        await sequencer.stop()

    run_in_virtual_time(live())
    return len(seen)


def test_a_chain_on_which_nothing_is_due_is_looked_at_seldom(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 8 <= looks(chain, monkeypatch, 1.0) <= 12


def test_a_chain_with_an_interval_is_looked_at_often(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.schedule.seal_every(60.0, time.monotonic())
    assert looks(chain, monkeypatch, 1.0) >= 40
