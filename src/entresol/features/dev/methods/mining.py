"""Sealing blocks on request, and when blocks are sealed by themselves."""

from __future__ import annotations

import asyncio
import time
from functools import reduce
from operator import or_
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, get_args

import msgspec
from msgspec import UNSET, UnsetType

from entresol._native import describe_revert
from entresol.chain.mining_schedule import MiningMode
from entresol.errors import InvalidParams, NotPossible
from entresol.execution.replay import replayed
from entresol.features.dev.mine_request import (
    IntervalRequest,
    MillisecondsRequest,
    MineOptions,
    MineRequest,
)
from entresol.offload import Offload
from entresol.primitives.values import Data
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.model import says
from entresol.rpc.models.chain_objects import BlockSummary, TransactionBase, TransactionInfo
from entresol.rpc.types.number import Number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from entresol.chain.chain import Chain
    from entresol.execution.block_executor import BlockExecutor
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.sequencer.sequencer import Sequencer


Output: TypeAlias = Annotated[Data, says("What it returned, or reverted with.")]
RevertReason: TypeAlias = Annotated[str | UnsetType, says("Why it failed, if it did.")]


def _mined(kind: type[TransactionBase]) -> type[msgspec.Struct]:
    tag = kind.__struct_config__.tag
    return msgspec.defstruct(
        f"Mined{kind.__name__.removesuffix('Info')}",
        [("output", Output), ("revert_reason", RevertReason, UNSET)],
        bases=(kind,),
        namespace={"__doc__": f"A sealed transaction of type {tag}, with what it returned."},
        frozen=True,
        kw_only=True,
        tag=tag,
    )


if TYPE_CHECKING:
    MinedTransaction: TypeAlias = TransactionInfo
else:
    MinedTransaction = reduce(or_, map(_mined, get_args(TransactionInfo)))


class MinedBlock(BlockSummary, frozen=True, kw_only=True):
    """A block that the request sealed."""

    transactions: Annotated[list[MinedTransaction], says("Whole, with what they returned.")]


SLICE_SECONDS: Final = 0.002
"""How long blocks are sealed before the event loop serves other requests."""

MAX_BLOCKS: Final = 100_000
"""How many blocks one request may seal: half a minute's work, which cannot be cancelled."""


def block_count(blocks: int | None, limit: int = MAX_BLOCKS) -> int:
    """Return how many blocks to seal: one, unless another number is given."""
    count = 1 if blocks is None else blocks
    if count > limit:
        raise InvalidParams(f"one request seals at most {limit:d} blocks, got {count:d}")
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

    @method(InvalidParams)
    async def mine(self, blocks: Number | None = None, interval: Number | None = None) -> None:
        """Seal blocks; before each of them, the clock moves forward by `interval` seconds."""
        async for _ in sliced(block_count(blocks)):
            if interval is not None:
                self._chain.clock.increase(int(interval), self._chain.head.timestamp)
            await self._sequencer.seal()


class HardhatMine(AnvilMine):
    """`hardhat_mine`."""

    prefix = "hardhat"
    acknowledges = True

    @method(InvalidParams)
    async def mine(self, blocks: Number | None = None, interval: Number | None = None) -> None:
        """Seal blocks `interval` seconds apart, by default one; the first has the time of the clock."""
        seconds = 1 if interval is None else int(interval)
        async for already in sliced(block_count(blocks)):
            if already and seconds:
                parent = self._chain.head.timestamp
                self._chain.clock.set_next_timestamp(parent + seconds, parent)
            await self._sequencer.seal()

    @method()
    async def interval_mine(self) -> None:
        """Seal a block now, as Hardhat's timer does."""
        await self._sequencer.seal()


MAX_DETAILED_BLOCKS: Final = 1_000
"""How many blocks one request may seal: each is returned in full."""


class MineDetailed:
    """`evm_mine_detailed` and its alias."""

    def __init__(
        self, prefix: str, chain: Chain, sequencer: Sequencer, rendered: RenderedChain
    ) -> None:
        self.prefix = prefix
        self._chain = chain
        self._sequencer = sequencer
        self._rendered = rendered

    @method(InvalidParams, name="{prefix}_mine_detailed")
    async def mine_detailed(
        self, options: MineRequest | None = None
    ) -> Offload[Annotated[list[dict[str, Any]], list[MinedBlock]]]:
        """Seal blocks as `evm_mine` does; return them with the `output` of each transaction.

        One that failed has a `revertReason`, too.
        """
        count = await seal_ordered(self._chain, self._sequencer, options, MAX_DETAILED_BLOCKS)
        last = self._chain.number
        return Offload(lambda: self._blocks(range(last - count + 1, last + 1)))

    def _blocks(self, numbers: range) -> list[dict[str, Any]]:
        blocks = (self._block(number) for number in cooperatively(numbers))
        return [block for block in blocks if block is not None]

    def _block(self, number: int) -> dict[str, Any] | None:
        rendered = self._rendered.block(number, full=True)
        text = rendered.work() if isinstance(rendered, Offload) else rendered
        if text is None:
            # It was reverted meanwhile.
            return None
        block: dict[str, Any] = msgspec.json.decode(text)
        transactions = block["transactions"]
        executor = self._replayed(number) if transactions else None
        for index, transaction in enumerate(transactions):
            assert executor is not None
            output = executor.outputs.get(index, b"")
            transaction["output"] = f"0x{output.hex()}"
            if index in executor.failures:
                transaction["revertReason"] = describe_revert(output)
        return block

    def _replayed(self, number: int) -> BlockExecutor:
        ledger = self._chain.ledger
        record = ledger.record(number)
        return replayed(
            record,
            ledger.header(number - 1),
            len(record.transactions),
            rules=ledger.rules_at(number).evm_rules(),
            snapshot=ledger.state_after(number - 1),
        )


class MiningModes:
    """The methods as anvil takes them: an interval is in seconds, and replaces automine."""

    def __init__(self, prefix: str, chain: Chain, sequencer: Sequencer) -> None:
        self.prefix = prefix
        self._chain = chain
        self._sequencer = sequencer

    @method(InvalidParams)
    def set_next_block_timestamp(self, timestamp: Number) -> None:
        """Set the timestamp of the next block, from which the clock goes on."""
        self._chain.clock.set_next_timestamp(int(timestamp), self._chain.head.timestamp)

    @method()
    def set_automine(self, enabled: bool) -> None:
        """Enable or disable sealing a block for each transaction."""
        if enabled:
            self._chain.schedule.seal_at_once()
            self._sequencer.wake()
        else:
            self._chain.schedule.seal_on_request()

    @method(InvalidParams)
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

    @method(InvalidParams, NotPossible)
    def set_next_block_timestamp(self, timestamp: Number) -> str:
        """Set the timestamp of the next block, which is later than the last one's, and return it in decimal digits."""
        wanted, head = int(timestamp), self._chain.head.timestamp
        if wanted == head:
            raise NotPossible(
                f"Timestamp {wanted:d} is equal to the previous block's timestamp. Enable the "
                "'allowBlocksWithSameTimestamp' option to allow this"
            )
        self._chain.clock.set_next_timestamp(wanted, head)
        return str(wanted)

    @method()
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

    @method(InvalidParams)
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
