"""Follow the gas price of L1, which the fees of the L2 depend on."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Protocol

from entresol.errors import LayerOneFailed
from entresol.l1.remote.agreement import agreed
from entresol.rollup.step_loop import Backoff, StepLoop

if TYPE_CHECKING:
    from entresol.l1.fee_limits import FeeLimits
    from entresol.l1.layer_one import L1Fees

logger = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0


class GasPriceModel(Protocol):
    """Fees that follow the gas price of L1."""

    def observe(self, gas_price: int) -> None:
        """Take a gas price of L1 into account."""


class PricedLayerOne(Protocol):
    """An L1 that tells its prices."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    async def fees(self) -> L1Fees:
        """Return the current gas prices."""

    async def wait_for_block(self, seconds: float) -> None:
        """Wait for the next block, up to so many seconds."""


class GasPriceWatcher:
    """Tells a fee model the gas price of L1, with each of its blocks.

    Remembers: the last price. Persists: nothing. Fails: an L1 that does not respond is asked again; deposits and settlement
    report it.
    """

    def __init__(self, l1: PricedLayerOne, fees: GasPriceModel, limits: FeeLimits) -> None:
        self._l1 = l1
        self._fees = fees
        self._limits = limits
        self._observed: int | None = None
        self._steps = StepLoop(
            self.step,
            logger,
            failing="cannot read the gas price of L1",
            backoff=Backoff(POLL_SECONDS),
            wait=l1.wait_for_block,
        )

    @property
    def problem(self) -> str | None:
        """Why the last attempt failed; None if it succeeded."""
        return self._steps.problem

    async def run(self) -> None:
        """Follow the gas price for ever."""
        await self._steps.run()

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
            logger.debug("the gas price of L1 is unknown: %s", error)
        return POLL_SECONDS

    async def _price(self) -> int:
        fees = self._limits.plausible(await self._l1.fees())
        return min(fees.gas_price, self._limits.max_fee)
