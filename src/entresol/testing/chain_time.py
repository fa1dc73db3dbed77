"""Move the clocks of all chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.inprocess.layer import DevnetLayer

INCREASE: Final = "evm_increaseTime"
PAIR: Final = 2


class ChainTime:
    """The time of the L1 and of each L2. After a change, each seals a block, so that calls see it."""

    def __init__(self, layers: Sequence[DevnetLayer], l2: DevnetLayer | None = None) -> None:
        """Take all layers, and the one that `now` is the time of: the last by default."""
        self._layers = layers
        self._l2 = l2 or layers[-1]

    def __repr__(self) -> str:
        return f"<chain time: {', '.join(layer.title for layer in self._layers)}>"

    @property
    def now(self) -> int:
        """The time of the last block of the L2, the first if there are several, in seconds since 1970."""
        block = self._l2.request("eth_getHeaderByNumber", "latest")
        return int(block["timestamp"], 16)

    def increase(self, seconds: int) -> int:
        """Move all clocks forward, and return the new time."""
        return self._change(INCREASE, seconds)

    def set(self, timestamp: int) -> int:
        """Set all clocks, to a time after that of the last blocks, and return the new time."""
        return self._change("evm_setNextBlockTimestamp", timestamp)

    def _change(self, method: str, value: int) -> int:
        # The clocks of several L2s and their L1 move together, those of a pair do not.
        is_shared = len(self._layers) > PAIR
        for layer in self._layers:
            if not is_shared or method != INCREASE or layer is self._layers[0]:
                layer.request(method, value)
            layer.request("evm_mine")
        return self.now
