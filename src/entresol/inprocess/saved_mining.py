"""When a layer seals blocks: what snapshots do not restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from entresol.inprocess.layer import DevnetLayer


class SavedMining(NamedTuple):
    """Whether a layer seals at once, and the seconds between blocks if there is an interval."""

    automine: bool
    interval: int | None

    @classmethod
    def of(cls, layer: DevnetLayer) -> Self:
        """Return the mode of a layer."""
        return cls(layer.request("anvil_getAutomine"), layer.request("anvil_getIntervalMining"))

    def restore(self, layer: DevnetLayer) -> None:
        """Set the mode of a layer, if it has another one by now."""
        if SavedMining.of(layer) == self:
            return
        if self.interval:
            layer.request("evm_setIntervalMining", self.interval)
        else:
            layer.request("evm_setAutomine", self.automine)
