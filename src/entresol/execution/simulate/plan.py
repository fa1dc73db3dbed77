"""Plan a simulation: number and time of each requested block, and empty blocks in the gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from entresol.errors import (
    EmptySimulation,
    InvalidOverride,
    SimulatedNumberTooLow,
    SimulatedTimeTooLow,
    SimulationTooLong,
)
from entresol.execution.call.call import CallRequest
from entresol.execution.call.overrides import BlockOverrides, StateOverride
from entresol.primitives.headers import Header
from entresol.primitives.values import Address

MAX_BLOCKS: Final = 256
"""How many blocks a simulation may have, including those that fill gaps."""

MAX_TIMESTAMP: Final = 2**64 - 1


class BlockCalls(msgspec.Struct, frozen=True, kw_only=True):
    """A requested block: its overrides and its calls."""

    calls: tuple[CallRequest, ...] = ()
    accounts: Mapping[Address, StateOverride] | None = None
    block: BlockOverrides = BlockOverrides()


class PlannedBlock(msgspec.Struct, frozen=True):
    """A block with its number and time; `index` is its position in the request, None if it fills a gap."""

    number: int
    timestamp: int
    requested: BlockCalls
    index: int | None = None


_NO_CALLS: Final = BlockCalls()


def plan(
    parent: Header, blocks: Sequence[BlockCalls], *, interval: int, limit: int = MAX_BLOCKS
) -> list[PlannedBlock]:
    """Return the blocks after `parent`, without gaps; numbers and times increase."""
    if not blocks:
        raise EmptySimulation
    if len(blocks) > limit:
        raise SimulationTooLong(len(blocks), limit)
    planned: list[PlannedBlock] = []
    number, timestamp = parent.number, parent.timestamp
    for index, requested in enumerate(blocks):
        last = number + 1 if requested.block.number is None else requested.block.number
        if last <= number:
            raise SimulatedNumberTooLow(last, number)
        if last - parent.number > limit:
            raise SimulationTooLong(last - parent.number, limit)
        for filling in _between(number, last, timestamp, interval):
            planned.append(filling)
            timestamp = filling.timestamp
        time = timestamp + interval if requested.block.time is None else requested.block.time
        if time <= timestamp:
            raise SimulatedTimeTooLow(time, timestamp)
        if time > MAX_TIMESTAMP:
            raise InvalidOverride(f"the time of a block is at most {MAX_TIMESTAMP}, got {time:d}")
        planned.append(PlannedBlock(last, time, requested, index))
        number, timestamp = last, time
    return planned


def _between(number: int, last: int, timestamp: int, interval: int) -> Iterator[PlannedBlock]:
    """Yield the empty blocks between block `number` and block `last`."""
    for missing in range(number + 1, last):
        timestamp += interval
        yield PlannedBlock(missing, timestamp, _NO_CALLS)
