"""What L1 has of a step beside its log."""

from __future__ import annotations

import asyncio
from typing import cast

from entresol.l1.availability.batch_data import EventPosition
from entresol.l1.layer_one import L1Receipt, LayerOne
from entresol.primitives.values import Hash32
from entresol.rollup.derivation.l1_events import BatchesVerified
from entresol.rollup.derivation.step_reader import StepReader
from tests.support.derivation.scripted_l1 import ScriptedLayerOne

TRANSACTION = Hash32(b"\x77" * 32)


class OneTransaction(ScriptedLayerOne):
    """An L1 whose last block has the transaction."""

    async def receipt(self, transaction_hash: Hash32) -> L1Receipt | None:
        """Return the receipt of the transaction."""
        number = len(self.blocks) - 1
        return L1Receipt(
            transaction_hash=transaction_hash,
            block_number=number,
            block_hash=self.blocks[number][0],
            succeeded=True,
            gas_used=100 + number,
        )


def test_a_transaction_that_a_reorg_has_moved_is_read_again() -> None:
    l1 = OneTransaction()
    reader = StepReader(cast("LayerOne", l1))

    def event() -> BatchesVerified:
        number = len(l1.blocks) - 1
        position = EventPosition(number, l1.blocks[number][0], 0)
        return BatchesVerified(position=position, transaction=TRANSACTION, before=0, last=1)

    async def scenario() -> None:
        first = l1.mine()
        found = await reader.step_of(event())
        assert (found.block, found.gas_used) == (first, 100 + first)
        assert await reader.step_of(event()) is found
        l1.reorg(first - 1)
        l1.mine()
        second = l1.mine()
        moved = await reader.step_of(event())
        assert moved == found._replace(
            block=second, timestamp=5_000 + second, gas_used=100 + second
        )

    asyncio.run(scenario())
