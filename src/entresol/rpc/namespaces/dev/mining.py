"""Sealing blocks on request: many of them in slices that let the event loop serve others."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Final

from entresol.errors import TimestampTooHigh, TooManyToSeal
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.types.mine_request import MineOptions, MineRequest
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from entresol.chain.chain import Chain
    from entresol.sequencer.sequencer import Sequencer

SLICE_SECONDS: Final = 0.002
"""How long blocks are sealed before the event loop serves other requests."""

MAX_BLOCKS: Final = 100_000
"""How many blocks one request may seal: half a minute's work, which cannot be cancelled."""


def block_count(blocks: int | None, limit: int = MAX_BLOCKS) -> int:
    """Return how many blocks to seal: one, unless another number is given."""
    count = 1 if blocks is None else blocks
    if count > limit:
        raise TooManyToSeal(count, limit)
    return count


async def sliced(count: int) -> AsyncIterator[int]:
    """Count to `count`, and yield to the event loop after each slice."""
    end = perf_counter() + SLICE_SECONDS
    for number in range(count):
        if perf_counter() > end:
            await asyncio.sleep(0)
            end = perf_counter() + SLICE_SECONDS
        yield number


async def seal_ordered(
    chain: Chain, sequencer: Sequencer, request: MineRequest | None, limit: int = MAX_BLOCKS
) -> int:
    """Seal the blocks of an `evm_mine` request; return how many."""
    wanted = MineOptions() if request is None else request.options
    count = block_count(wanted.blocks, limit)
    if wanted.timestamp is not None:
        chain.clock.set_next_timestamp(int(wanted.timestamp), chain.head.timestamp)
    async for _ in sliced(count):
        await sequencer.seal()
    return count


class AnvilMine:
    """`anvil_mine`."""

    prefix = "anvil"

    def __init__(self, chain: Chain, sequencer: Sequencer) -> None:
        self._chain = chain
        self._sequencer = sequencer

    @method(TimestampTooHigh, TooManyToSeal, served_by=ServedBy.PRODUCER)
    async def mine(self, blocks: Number | None = None, interval: Number | None = None) -> None:
        """Seal blocks; before each of them, the clock moves forward by `interval` seconds."""
        async for _ in sliced(block_count(blocks)):
            if interval is not None:
                self._chain.clock.increase(int(interval), self._chain.head.timestamp)
            await self._sequencer.seal()


class HardhatMine:
    """`hardhat_mine`."""

    prefix = "hardhat"

    def __init__(self, chain: Chain, sequencer: Sequencer) -> None:
        self._chain = chain
        self._sequencer = sequencer

    @method(TimestampTooHigh, TooManyToSeal, served_by=ServedBy.PRODUCER)
    async def mine(self, blocks: Number | None = None, interval: Number | None = None) -> bool:
        """Seal blocks `interval` seconds apart, by default one; the first has the time of the clock."""
        seconds = 1 if interval is None else int(interval)
        async for already in sliced(block_count(blocks)):
            if already and seconds:
                parent = self._chain.head.timestamp
                self._chain.clock.set_next_timestamp(parent + seconds, parent)
            await self._sequencer.seal()
        return True

    @method(served_by=ServedBy.PRODUCER)
    async def interval_mine(self) -> bool:
        """Seal a block now, as Hardhat's timer does."""
        await self._sequencer.seal()
        return True
