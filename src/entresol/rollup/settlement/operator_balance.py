"""The balance of each of the operator's keys on L1: a metric, and a warning before it runs dry."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.rollup.step_loop import Backoff, StepLoop, Stepping

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne
    from entresol.l1.operator import OperatorKey

log = logging.getLogger(__name__)

POLL_SECONDS: Final = 10.0
_ETHER: Final = 10**18


class OperatorBalance(Stepping):
    """Reads the balance of one of the operator's keys now and then."""

    def __init__(self, l1: LayerOne, key: OperatorKey, low: int) -> None:
        self._l1 = l1
        self.key = key
        self._address = key.address
        self._low = low
        self._steps = StepLoop(
            self._poll, log, failing=f"cannot read the balance of {key.name}", backoff=Backoff(1.0)
        )
        self.wei: int | None = None
        """The balance when it was last read."""

    @property
    def problem(self) -> str | None:
        """That the balance is low; None if it is not, or not known."""
        if self.wei is None or self.wei >= self._low:
            return None
        return (
            f"{self.key.name}, {self._address.checksummed()}, has less than {self._low / _ETHER:g} ether on "
            "L1: send it some before settlement stops (--operator-low-balance)"
        )

    async def step(self) -> None:
        """Read the balance; log a warning when it gets low."""
        before = self.problem
        self.wei = await self._l1.balance(self._address)
        if self.problem is not None and before is None:
            log.warning("%s", self.problem)
        elif self.problem is None and before is not None:
            log.info("%s has %g ether on L1", self.key.name, self.wei / _ETHER)

    async def _poll(self) -> float:
        await self.step()
        return POLL_SECONDS
