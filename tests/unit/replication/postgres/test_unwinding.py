"""Plans to unwind to a block: what is pending again, and which settlement forbids it."""

from __future__ import annotations

import pytest

from entresol.errors import BelowSettledBatch, InvalidConfig, LogTruncated
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.replication.postgres.unwinding import plan_unwind
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rollup.settlement.pending_tx import PendingSettlement
from entresol.storage.log_entries import (
    Entry,
    OutgoingEntry,
    SettledEntry,
    UnsettledEntry,
    UnwindEntry,
)
from tests.support.chain.dev_chain import deposit, open_chain, transaction
from tests.support.cluster.database import EmptyCluster, play
from tests.support.cluster.postgres import Postgres

COMMIT = SettlementStep.COMMIT
BY = SettlementTransaction(Hash32(bytes(32)), 1, 1)
PENDING = PendingSettlement(COMMIT, 1, 1, 0, (transaction(0).raw,))
SETTLED = SettledEntry.of(range(1, 2), COMMIT, BY, ends_outgoing=True)
OUTGOING = OutgoingEntry(COMMIT, PENDING.encode())


def test_transactions_of_canonical_blocks_are_pending_again_in_their_order(
    postgres: Postgres,
) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        chain = open_chain()
        async with cluster.connected() as connection:
            sealer = await cluster.producer(connection, chain)
            for nonce in range(3):
                if nonce == 1:
                    chain.enqueue(deposit(0))
                chain.add(transaction(nonce))
                await sealer.seal()
            await sealer.journal.write(UnwindEntry(2))
            chain.add(transaction(2, wei=5))
            await sealer.seal()
            plan = await plan_unwind(connection, 1)
            expected = [transaction(1), transaction(2, wei=5)]
            assert plan.entry == UnwindEntry(1)
            assert [it.hash for it in plan.pending] == [it.hash for it in expected]
            assert [it.raw for it in plan.pending] == [it.raw for it in expected]
            assert [it.arrived for it in plan.pending] == [-2, -1]
            for number in (-1, 3, 9):
                with pytest.raises(InvalidConfig, match="--to"):
                    await plan_unwind(connection, number)
            await connection.execute("delete from log where seq = 4")
            with pytest.raises(LogTruncated):
                await plan_unwind(connection, 0)
        chain.close()

    play(postgres, scenario)


@pytest.mark.parametrize(
    ("entries", "is_allowed"),
    [
        ([], True),
        ([OUTGOING], False),
        ([OUTGOING, OutgoingEntry(COMMIT, b"")], True),
        ([OUTGOING, SETTLED], False),
        ([SETTLED, UnsettledEntry(COMMIT, 1, 1)], True),
    ],
    ids=["sealed", "under way", "dropped", "committed", "removed by a reorg"],
)
def test_a_batch_that_l1_has_or_may_get_is_not_undone(
    postgres: Postgres, entries: list[Entry], *, is_allowed: bool
) -> None:
    async def scenario(cluster: EmptyCluster) -> None:
        chain = open_chain()
        async with cluster.connected() as connection:
            sealer = await cluster.producer(connection, chain)
            batcher = Batcher(
                chain.blocks, chain.batches, SealingPolicy(max_age=1e9), journal=sealer.journal
            )
            chain.add(transaction(0))
            await sealer.seal()
            await batcher.seal(0.0)
            chain.add(transaction(1))
            await sealer.seal()
            for entry in entries:
                await sealer.journal.write(entry)
            assert len((await plan_unwind(connection, 1)).pending) == 1
            if is_allowed:
                assert len((await plan_unwind(connection, 0)).pending) == 2
            else:
                with pytest.raises(BelowSettledBatch):
                    await plan_unwind(connection, 0)
        chain.close()

    play(postgres, scenario)
