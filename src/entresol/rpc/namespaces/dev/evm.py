"""The `evm_` namespace, which Ganache introduced: snapshots, time and mining."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from entresol.errors import (
    InvalidInterval,
    TimestampTooHigh,
    TimestampTooLow,
    TooManyToSeal,
)
from entresol.primitives.values import Quantity
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.namespaces.dev.mining import block_count, sliced
from entresol.rpc.types.mine_request import MineOptions, MineRequest
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.dev.checkpoints import Checkpoints


class TimeTravel:
    """Snapshots, time and mining mode; `evm_` and `anvil_` share these methods."""

    def __init__(self, chain: Chain, checkpoints: Checkpoints) -> None:
        self._chain = chain
        self._checkpoints = checkpoints

    @method()
    def snapshot(self) -> Quantity:
        """Take a snapshot of the chain and return its id.

        On a development pair it covers both layers, whichever receives the request.
        """
        return Quantity(self._checkpoints.create())

    @method()
    def revert(self, snapshot: Number) -> bool:
        """Revert the chain to a snapshot, and return whether that snapshot existed."""
        return self._checkpoints.restore(snapshot)

    @method(TimestampTooHigh)
    def increase_time(self, seconds: Number) -> Quantity:
        """Move the chain's clock forward, and return its offset in seconds."""
        return Quantity(self._chain.clock.increase(seconds))

    @method(TimestampTooHigh)
    def set_time(self, timestamp: Number) -> Quantity:
        """Set the chain's clock, and return by how many seconds that moved it forward."""
        clock = self._chain.clock
        before = clock.now()
        clock.set_time(timestamp)
        return Quantity(max(timestamp - before, 0))

    @method(TimestampTooLow, TimestampTooHigh)
    def set_next_block_timestamp(self, timestamp: Number) -> None:
        """Set the timestamp of the next block."""
        self._chain.clock.set_next_timestamp(timestamp, self._chain.head.timestamp)

    @method()
    def set_automine(self, enabled: bool) -> None:
        """Enable or disable sealing a block for each transaction."""
        if enabled:
            self._chain.schedule.seal_at_once()
            self._chain.automine()
        else:
            self._chain.schedule.seal_on_request()

    @method(InvalidInterval)
    def set_interval_mining(self, seconds: Number) -> None:
        """Seal a block every given number of seconds; 0 seals on request only."""
        if seconds:
            self._chain.schedule.seal_every(float(seconds), time.monotonic())
        else:
            self._chain.schedule.seal_on_request()


class Evm(TimeTravel):
    """The `evm_` namespace."""

    prefix = "evm"

    @method(TimestampTooLow, TimestampTooHigh, TooManyToSeal)
    async def mine(self, options: MineRequest | None = None) -> Quantity:
        """Seal a block, optionally with a given timestamp, or several by `{timestamp, blocks}`."""
        wanted = MineOptions() if options is None else options.options
        count = block_count(wanted.blocks)
        if wanted.timestamp is not None:
            self._chain.clock.set_next_timestamp(wanted.timestamp, self._chain.head.timestamp)
        async for _ in sliced(count):
            self._chain.seal()
        return Quantity(0)
