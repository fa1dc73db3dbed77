"""Senders have their responses while work comes without end, with one write to the database a block."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.errors import InsufficientFunds
from entresol.features.cluster.postgres.journal import UNCHANGED, PoolRows
from entresol.features.cluster.postgres.sequencer import BLOCKS_WAITED, ClusterSealer
from entresol.primitives.values import Hash32
from tests.support.chain.dev_chain import ALICE, open_chain, transaction
from tests.support.cluster.postgres import EmptyCluster
from tests.support.polling import PATIENCE_SECONDS

LAST = 8


class BusyJournal:
    """A journal whose database is so far away that a transaction arrives during each write."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.written_at = float("inf")
        self.writes: list[tuple[int, int]] = []
        """How many rows each write adds and removes."""

    async def seal(self, executed: Any, prices: Any, pool: Any = UNCHANGED) -> Any:
        """Append a block, and let the next transaction arrive."""
        self.writes.append((len(pool.added), len(pool.removed)))
        await asyncio.sleep(0)
        if self.chain.number < LAST:
            self.chain.add(transaction(self.chain.number + 1))
        return self.chain.append(executed, prices)

    async def update_pool(self, pool: Any = UNCHANGED) -> None:
        self.writes.append((len(pool.added), len(pool.removed)))


def sealing(chain: Chain) -> tuple[ClusterSealer, BusyJournal]:
    journal: Any = BusyJournal(chain)
    return ClusterSealer(chain, journal, PoolRows(chain), renew_seconds=1.0), journal


def reported_at(chain: Chain, sealer: ClusterSealer, *hashes: Hash32) -> list[int]:
    """Return the head at which each sender has its response, if all wait before one round."""
    heads: dict[Hash32, int] = {}

    async def run() -> None:
        all_reported = asyncio.Event()

        def report(it: Hash32, _error: Exception | None) -> None:
            heads[it] = chain.number
            if len(heads) == len(hashes):
                all_reported.set()

        for it in hashes:
            sealer.include(it, partial(report, it))
        running = asyncio.create_task(sealer.run())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await all_reported.wait()
        running.cancel()

    asyncio.run(run())
    return [heads[it] for it in hashes]


def test_a_sender_has_its_response_with_its_block_although_more_work_comes() -> None:
    chain = open_chain()
    sealer, journal = sealing(chain)
    first = transaction(0)
    chain.add(first)
    assert reported_at(chain, sealer, first.hash) == [1]
    assert journal.writes[0] == (0, 0)
    chain.close()


def test_a_transaction_that_blocks_leave_out_is_reported_after_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = open_chain()
    sealer, _ = sealing(chain)
    chain.add(transaction(0))
    poor = transaction(LAST + 50)
    chain.add(poor)
    monkeypatch.setattr(type(chain.pool), "is_pending", lambda _, it: it == poor.hash)
    assert reported_at(chain, sealer, poor.hash) == [BLOCKS_WAITED + 1]
    chain.close()


@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_transaction_that_its_block_rejects_is_an_error_and_seals_no_empty_block(
    cluster: EmptyCluster, *, is_alone: bool
) -> None:
    chain = open_chain()
    async with cluster.connected() as connection:
        sealer = await cluster.producer(connection, chain)
        outcomes: list[type[Exception] | None] = []
        told = asyncio.Event()

        def report(error: Exception | None) -> None:
            outcomes.append(None if error is None else type(error))
            told.set()

        sent = [transaction(0)] if is_alone else [transaction(0), transaction(0, by=1)]
        for it in sent:
            chain.add(it)
            sealer.include(it.hash, report)
        # An edit that the pool does not see.
        chain.edits.apply(chain.ledger.latest, lambda overlay: overlay.set_balance(ALICE, 0))
        running = asyncio.create_task(sealer.run())
        await told.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        assert outcomes == [InsufficientFunds, None][: len(sent)]
        assert chain.number == len(sent) - 1
        assert not len(chain.pool)
    chain.close()
