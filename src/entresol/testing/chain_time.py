"""Move the clocks of all chains."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.inprocess.layer import DevnetLayer


class ChainTime:
    """The time of the L1 and of each L2. After a change, each seals a block, so that calls see it."""

    def __init__(self, layers: Sequence[DevnetLayer], l2: DevnetLayer | None = None) -> None:
        """Take all layers, and the one that `now` is the time of: the last by default."""
        self._layers = layers
        self._l2 = l2 or layers[-1]

    @property
    def now(self) -> int:
        """The time of the last block of the L2, the first if there are several, in seconds since 1970."""
        block = self._l2.request("eth_getHeaderByNumber", "latest")
        return int(block["timestamp"], 16)

    def increase(self, seconds: int) -> int:
        """Move all clocks forward, and return the new time."""
        return self._change("evm_increaseTime", seconds)

    def set(self, timestamp: int) -> int:
        """Set all clocks, to a time after that of the last blocks, and return the new time."""
        return self._change("evm_setNextBlockTimestamp", timestamp)

    def _change(self, method: str, value: int) -> int:
        for layer in self._layers:
            layer.request(method, value)
            layer.request("evm_mine")
        return self.now
