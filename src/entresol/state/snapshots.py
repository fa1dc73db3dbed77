"""The engine's view of past and present states, kept where it is likely to be asked for again."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

from entresol._native import Snapshot
from entresol.state.history import HistoricalState

if TYPE_CHECKING:
    from entresol._native import Overlay
    from entresol.storage.readers import StateReader

KEPT: Final = 32


class Snapshots:
    """Snapshots of the states after some blocks; any thread may ask.

    Remembers: the ones used last; each follows from the one before, so that what is hot stays cached
    from block to block. Persists: nothing.
    """

    def __init__(self, store: StateReader, kept: int = KEPT) -> None:
        self._store = store
        self._kept = kept
        self._snapshots: OrderedDict[int, Snapshot] = OrderedDict()
        self._lock = Lock()

    def after(self, number: int) -> Snapshot:
        """Return the state after block `number`."""
        with self._lock:
            snapshot = self._snapshots.get(number)
            if snapshot is None:
                return self._keep(number, Snapshot(HistoricalState(self._store, number)))
            self._snapshots.move_to_end(number)
            return snapshot

    def advance(self, number: int, overlay: Overlay) -> Snapshot:
        """Keep the state after block `number`, which `overlay` led to and the store knows now."""
        snapshot = overlay.seal(HistoricalState(self._store, number))
        with self._lock:
            return self._keep(number, snapshot)

    def forget_above(self, number: int) -> None:
        """Forget the states after blocks that are gone."""
        with self._lock:
            for later in [kept for kept in self._snapshots if kept > number]:
                del self._snapshots[later]

    def _keep(self, number: int, snapshot: Snapshot) -> Snapshot:
        self._snapshots[number] = snapshot
        if len(self._snapshots) > self._kept:
            self._snapshots.popitem(last=False)
        return snapshot
