"""Cache of the engine's snapshots of recent and historical states."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from entresol._native import Snapshot
from entresol.primitives.bounded_map import BoundedMap
from entresol.state.history import HistoricalState

if TYPE_CHECKING:
    from entresol._native import Overlay
    from entresol.storage.readers import StateReader

MAX_SNAPSHOTS: Final = 32


class Snapshots:
    """An LRU cache of snapshots by block number; any thread may read.

    Remembers: the snapshots used last. Each shares the cache of the one before, so that hot accounts
    stay cached from block to block. Persists: nothing.
    """

    def __init__(self, store: StateReader, max_snapshots: int = MAX_SNAPSHOTS) -> None:
        self._store = store
        self._snapshots: BoundedMap[int, Snapshot] = BoundedMap(max_snapshots)
        self._lock = Lock()
        self._prepared: tuple[Overlay, Snapshot] | None = None

    def after(self, number: int) -> Snapshot:
        """Return the state after block `number`."""
        with self._lock:
            snapshot = self._snapshots.touch(number)
            if snapshot is None:
                snapshot = Snapshot(HistoricalState(self._store, number))
                self._snapshots.put(number, snapshot)
            return snapshot

    def advance(self, number: int, overlay: Overlay) -> Snapshot:
        """Cache the state after block `number`, which the store has and `overlay` led to."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] is overlay:
            snapshot = prepared[1]
        else:
            snapshot = overlay.seal(HistoricalState(self._store, number))
        with self._lock:
            self._snapshots.put(number, snapshot)
        return snapshot

    def prepare(self, number: int, overlay: Overlay) -> None:
        """Prepare what `advance` caches next, after the store has it; any thread may call it."""
        self._prepared = overlay, overlay.seal(HistoricalState(self._store, number))

    def evict_above(self, number: int) -> None:
        """Evict the states of reverted blocks."""
        with self._lock:
            self._snapshots.pop_all(number.__lt__)
