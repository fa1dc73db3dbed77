"""Follow on L1 what the fees of the L2 depend on: its gas price, and the price of ether in the base token."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol._native import keccak256, logs_bloom
from entresol.chain.events import BLOCK_EVENTS, BlockSealed
from entresol.errors import LayerOneFailed, LayerOneMismatch, LayerOneRejected
from entresol.l1.layer_one import L1Finality, agreed, existing_block
from entresol.primitives.values import Hash32
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.events import ChainEvents, Event
    from entresol.chain.fees import FeeModel
    from entresol.l1.contracts import ZkChain
    from entresol.l1.fee_limits import FeeLimits
    from entresol.l1.layer_one import L1Block, LayerOne
    from entresol.primitives.base_token import EtherPrice

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0
MAX_BEHIND: Final = 5
"""How often in a row L1 may be behind what it has said, as one of several nodes behind a URL, until it counts."""
NEW_PRICE: Final = Hash32(keccak256(b"NewBaseTokenMultiplier(uint128,uint128,uint128,uint128)"))


class GasPriceWatcher(Stepping):
    """Tells a fee model the gas price of L1, with each of its blocks."""

    def __init__(self, l1: LayerOne, fees: FeeModel, limits: FeeLimits) -> None:
        self._l1 = l1
        self._fees = fees
        self._limits = limits
        self._observed: int | None = None
        self._steps = StepLoop(
            self.step,
            log,
            failing="cannot read the gas price of L1",
            backoff=Backoff(POLL_SECONDS),
            wait=l1.wait_for_block,
        )

    async def step(self) -> float:
        """Read the gas price once, and return the seconds until the next time."""
        try:
            price = await self._price()
            if price != self._observed:
                # Blocks keep it, so that one wrong response may not set it.
                price = await agreed(self._l1, "its gas price", self._price)
            self._fees.observe(price)
            self._observed = price
        except LayerOneFailed as error:
            log.debug("the gas price of L1 is unknown: %s", error)
        return POLL_SECONDS

    async def _price(self) -> int:
        fees = self._limits.plausible(await self._l1.fees())
        return min(fees.gas_price, self._limits.max_fee)


class EtherPriceWatcher(Stepping):
    """Tells a fee model what ether costs in the base token, with each confirmed block of L1.

    Every price of the L2 changes in one step, as on L1. A reorg of L1 takes a price back, since the price is read
    from the state of a block, not from events. Fails: with `LayerOneMismatch` for a price that cannot be, or as
    `LayerOne` does; the last price stays, and `run` reports and retries.
    """

    def __init__(
        self,
        contract: ZkChain,
        fees: FeeModel,
        *,
        confirmations: int = 0,
        finality: L1Finality = "latest",
        on_repriced: Callable[[], object] = lambda: None,
    ) -> None:
        self._contract = contract
        self._l1 = contract.l1
        self._fees = fees
        self._confirmations = confirmations
        self._finality: L1Finality = finality
        self._on_repriced = on_repriced
        self._read: L1Block | None = None
        self._behind = 0
        self._is_in_process = False
        self._steps = StepLoop(
            self.step,
            log,
            failing="cannot read what ether costs in the base token",
            recovered="reading what ether costs in the base token again",
            backoff=Backoff(POLL_SECONDS),
            wait=self._l1.wait_for_block,
        )

    async def refresh(self) -> None:
        """Read the price now; a failure is reported as one of `run` is."""
        await self._steps.step()

    def listen(self, l1_events: ChainEvents) -> None:
        """Follow an L1 in this process with each block that may have a new price, before any client knows of it."""
        address = self._contract.address
        sought = int.from_bytes(logs_bloom([(address, [NEW_PRICE])]))
        self._is_in_process = True

        def on_event(event: Event) -> None:
            # There may be thousands of blocks in a turn. What no event tells, as an edit, `run` finds.
            if isinstance(event, BlockSealed) and sought & ~int.from_bytes(event.header.logs_bloom):
                return
            self._refresh_at_once()

        l1_events.listen(on_event, *BLOCK_EVENTS)

    def _refresh_at_once(self) -> None:
        """Read the price without a turn of the event loop: methods of an L1 in this process never suspend."""
        reading = self.refresh()
        try:
            reading.send(None)
        except StopIteration:
            return
        reading.close()
        raise RuntimeError(f"{self._l1.name} is not in this process")

    async def step(self) -> float:
        """Read the price if there is another confirmed block, and return the seconds until the next time."""
        head = await self._l1.block_number(self._finality)
        number = max(head - self._confirmations, self._contract.first_block)
        if await self._lags(number):
            return POLL_SECONDS
        block = await existing_block(self._l1, number)
        if self._read is None and await self._is_unconfirmed(block):
            return POLL_SECONDS
        if self._read is None or block.hash != self._read.hash:
            price = await self._price_at(block)
            if price != self._fees.ether_price:
                if self._confirmations:
                    # They are counted by blocks that there are.
                    await existing_block(self._l1, head)
                # Blocks keep what follows from it, so that one wrong response may not set it.
                price = await agreed(self._l1, "the price", lambda: self._price_at(block))
            self._follow(price)
            self._read = block
        return POLL_SECONDS

    async def _lags(self, number: int) -> bool:
        """Return whether L1 is behind the block that was read last, and may have it nevertheless.

        Prices would go back and forth with the nodes behind one URL.
        """
        read = self._read
        if self._is_in_process or read is None or number >= read.number:
            self._behind = 0
            return False
        again = await self._l1.block(read.number)
        is_replaced = again is not None and again.hash != read.hash
        self._behind += 1
        return not is_replaced and self._behind <= MAX_BEHIND

    async def _is_unconfirmed(self, block: L1Block) -> bool:
        """Return whether the chain's contract is younger than a block: its price is still that of the flags."""
        address = self._contract.address
        return not await self._l1.code(address, block.number) and bool(await self._l1.code(address))

    async def _price_at(self, block: L1Block) -> EtherPrice:
        try:
            return await self._contract.ether_price(block.hash)
        except LayerOneRejected:
            # Not every node takes a hash.
            return await self._contract.ether_price(block.number)

    def _follow(self, price: EtherPrice) -> None:
        before = self._fees.ether_price
        if price == before:
            return
        try:
            self._fees.set_ether_price(price)
        except ValueError as error:
            raise LayerOneMismatch(
                f"{error}; prices stay those of {before.nominator} / {before.denominator}"
            ) from error
        log.info(
            "a wei costs %d / %d units of the base token, before %d / %d: prices follow",
            *(price.nominator, price.denominator, before.nominator, before.denominator),
        )
        self._on_repriced()
