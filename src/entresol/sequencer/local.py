"""The sequencer of a process that seals the blocks of its chain itself, beside serving requests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Final

from entresol.background_task import BackgroundTask
from entresol.chain.mining_schedule import MiningMode
from entresol.chain.sealing.pool_inclusion import ColdFound
from entresol.sequencer.automine import RETRY_SECONDS, SEALING_ERRORS, Automine, BlockSealer
from entresol.sequencer.warming import Warming

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import OnIncluded

TICK_SECONDS: Final = 0.02
"""How often the clock is read while blocks are due by it."""
IDLE_SECONDS: Final = 0.1
"""How often a change to such a mode, or that the store failed, is noticed otherwise; an idle node shall cost little."""
WARM_ROUNDS: Final = 32
"""How often a block that is asked for waits for what its transactions read, before it is sealed without some."""
_BY_CLOCK: Final = frozenset({MiningMode.DELAYED, MiningMode.INTERVAL, MiningMode.MIXED})


class LocalSequencer:
    """Seals blocks when their transactions arrive, when the timer says so, and on request.

    Fails: towards the senders; a block of the timer is tried again, and `problem` says why.
    """

    accepts_known = False

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._sealer = BlockSealer(chain)
        self._automine = Automine(chain, self._sealer)
        self._warming = (
            None
            if chain.ledger.remote is None
            else Warming(chain, self._automine.seal_warm, self._automine.drop_cold)
        )
        self._timer = BackgroundTask("the timer of blocks", self._tick)

    def wake(self) -> None:
        """Seal what is pending, now or in the background, if the mode is automine."""
        if self._chain.schedule.is_automine:
            self._automine.seal()

    def include(self, transaction_hash: Hash32, on_included: OnIncluded) -> None:
        """Seal a transaction with others that arrive in this turn of the event loop, and report it."""
        self._automine.include(transaction_hash, on_included)

    def flush(self) -> None:
        """Seal what is to be included before the turn ends."""
        self._automine.seal_included()

    async def seal(self) -> Header:
        """Seal the next block, even if it is empty; a thread executes a heavy one.

        On a fork it waits for what pending transactions read, so that the block has all of them.
        """
        if self._warming is not None:
            for _ in range(WARM_ROUNDS):
                await self._warming.settled()
                with contextlib.suppress(ColdFound):
                    return await self._sealer.seal(leaves_out=False)
        return await self._sealer.seal()

    @property
    def problem(self) -> str | None:
        """Why what is due by the clock is not sealed, or which deposit waits for a remote; None if all is well."""
        return self._timer.problem or self._chain.filler.cold.problem

    async def start(self) -> None:
        """Start to seal what is due by the clock."""
        self._timer.start()

    async def stop(self) -> None:
        """Stop sealing; senders whose transactions are in no block get an error."""
        await self._timer.stop()
        if self._warming is not None:
            await self._warming.stop()
        await self._automine.stop()
        await self._sealer.stop()

    async def _tick(self) -> None:
        while True:
            pause = TICK_SECONDS if self._chain.schedule.mode in _BY_CLOCK else IDLE_SECONDS
            try:
                if not self._chain.recover():
                    pause = RETRY_SECONDS
                elif self._chain.is_due(time.monotonic()):
                    await self._seal_due()
            except SEALING_ERRORS as error:
                pause = self._sealer.failed(error)
            await asyncio.sleep(pause)

    async def _seal_due(self) -> None:
        """Seal a block; one that follows what is sent is not sealed if it would reject all of it."""
        if self._chain.schedule.mode is MiningMode.DELAYED:
            await self._sealer.seal_work()
        else:
            await self._sealer.seal()
