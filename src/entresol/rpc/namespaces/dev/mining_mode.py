"""When blocks are sealed, and the timestamp of the next one: as anvil takes such requests, or as Hardhat does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from entresol.chain.mining_schedule import MiningMode
from entresol.errors import (
    InvalidInterval,
    TimestampNotLater,
    TimestampTooHigh,
    TimestampTooLow,
)
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.types.mine_request import IntervalRequest, MillisecondsRequest
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.sequencer.sequencer import Sequencer


class MiningModes:
    """The methods as anvil takes them: an interval is in seconds, and replaces automine."""

    def __init__(self, prefix: str, chain: Chain, sequencer: Sequencer) -> None:
        self.prefix = prefix
        self._chain = chain
        self._sequencer = sequencer

    @method(TimestampTooLow, TimestampTooHigh, served_by=ServedBy.PRODUCER)
    def set_next_block_timestamp(self, timestamp: Number) -> None:
        """Set the timestamp of the next block, from which the clock goes on."""
        self._chain.clock.set_next_timestamp(int(timestamp), self._chain.head.timestamp)

    @method(served_by=ServedBy.PRODUCER)
    def set_automine(self, enabled: bool) -> None:
        """Enable or disable sealing a block for each transaction."""
        if enabled:
            self._chain.schedule.seal_at_once()
            self._sequencer.wake()
        else:
            self._chain.schedule.seal_on_request()

    @method(InvalidInterval, served_by=ServedBy.PRODUCER)
    def set_interval_mining(self, interval: IntervalRequest) -> None:
        """Seal a block every given number of seconds; 0 seals on request only.

        An array of two numbers is Hardhat's: each block is sealed after a random time between them, in milliseconds.
        With `--hardhat-errors` a number is in milliseconds, too.
        """
        if interval.longest:
            self._chain.schedule.seal_every(
                interval.shortest, time.monotonic(), longest=interval.longest
            )
        else:
            self._chain.schedule.seal_on_request()


class HardhatMiningModes:
    """The same methods of `evm_` as Hardhat takes them: an interval is in milliseconds, and stands beside automine."""

    prefix = "evm"
    acknowledges = True

    def __init__(self, chain: Chain, sequencer: Sequencer) -> None:
        self._chain = chain
        self._sequencer = sequencer

    @method(TimestampTooLow, TimestampNotLater, TimestampTooHigh, served_by=ServedBy.PRODUCER)
    def set_next_block_timestamp(self, timestamp: Number) -> str:
        """Set the timestamp of the next block, which is later than the last one's, and return it in decimal digits."""
        wanted, head = int(timestamp), self._chain.head.timestamp
        if wanted == head:
            raise TimestampNotLater(wanted)
        self._chain.clock.set_next_timestamp(wanted, head)
        return str(wanted)

    @method(served_by=ServedBy.PRODUCER)
    def set_automine(self, enabled: bool) -> None:
        """Enable or disable sealing a block for each transaction; an interval stays."""
        schedule = self._chain.schedule
        if schedule.has_timer:
            mode = MiningMode.MIXED if enabled else MiningMode.INTERVAL
            schedule.restore(schedule.state._replace(mode=mode), time.monotonic())
        elif enabled:
            schedule.seal_at_once()
        else:
            schedule.seal_on_request()
        if enabled:
            self._sequencer.wake()

    @method(InvalidInterval, served_by=ServedBy.PRODUCER)
    def set_interval_mining(self, interval: MillisecondsRequest) -> None:
        """Seal a block every given number of milliseconds, or after a random time between two; 0 ends it."""
        schedule = self._chain.schedule
        if interval.longest:
            is_mixed = schedule.is_automine or schedule.mode is MiningMode.DELAYED
            schedule.seal_every(
                interval.shortest, time.monotonic(), longest=interval.longest, mixed=is_mixed
            )
        elif schedule.mode is MiningMode.MIXED:
            schedule.seal_at_once()
        elif schedule.mode is MiningMode.INTERVAL:
            schedule.seal_on_request()
