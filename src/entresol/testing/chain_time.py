"""Move the clocks of both layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.inprocess.layer import DevnetLayer


class ChainTime:
    """The time of both layers. After a change, each seals a block, so that calls see it."""

    def __init__(self, layers: Sequence[DevnetLayer]) -> None:
        self._layers = layers

    @property
    def now(self) -> int:
        """The time of the last block of the L2, in seconds since 1970."""
        block = self._layers[-1].request("eth_getHeaderByNumber", "latest")
        return int(block["timestamp"], 16)

    def increase(self, seconds: int) -> int:
        """Move both clocks forward, and return the new time."""
        return self._change("evm_increaseTime", seconds)

    def set(self, timestamp: int) -> int:
        """Set both clocks, to a time after that of the last blocks, and return the new time."""
        return self._change("evm_setNextBlockTimestamp", timestamp)

    def _change(self, method: str, value: int) -> int:
        for layer in self._layers:
            layer.request(method, value)
            layer.request("evm_mine")
        return self.now
