"""Cache of the engine's snapshots of recent and historical states."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Final

from entresol._native import Account, Snapshot
from entresol.errors import StoreFailed
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.storage.store_view import StoreView

if TYPE_CHECKING:
    from entresol._native import Overlay, RemoteTable
    from entresol.storage.store_view import Known


MAX_SNAPSHOTS: Final = 32


class HistoricalState:
    """The state after block `number`, as the source of an engine snapshot."""

    # The engine looks for it once for a snapshot; what is not there takes six microseconds to find.
    remote: ClassVar[None] = None

    def __init__(self, store: StoreView, number: int) -> None:
        self._store = store
        self.number = number

    def account(self, address: bytes) -> Account | None:
        """Return an account, or None."""
        return self._store.account(address, self.number)

    def slot(self, address: bytes, slot: bytes) -> bytes:
        """Return a slot's value, big-endian without leading zeros."""
        return self._store.slot(address, slot, self.number)

    def code(self, code_hash: bytes) -> bytes:
        """Return the code with this hash."""
        code = b"" if code_hash == EMPTY_CODE_HASH else self._store.code(code_hash)
        if code is None:
            raise StoreFailed(f"code 0x{code_hash.hex()} is missing")
        return code

    def block_hash(self, number: int) -> bytes:
        """Return the hash of an earlier block; zero if there is no such block."""
        found = self._store.block_hash(number)
        return bytes(32) if found is None else found


class ForkedState:
    """The state after a block of a fork: what no block has written or deleted is `NotImplemented`, and read from `remote`."""

    def __init__(self, store: StoreView, number: int, remote: RemoteTable) -> None:
        self._store = store
        self.number = number
        self.remote = remote

    def account(self, address: bytes) -> Known[Account | None]:
        """Return an account, None if it was deleted, or `NotImplemented`."""
        return self._store.known_account(address, self.number)

    def slot(self, address: bytes, slot: bytes) -> Known[bytes]:
        """Return a slot's value, big-endian without leading zeros, or `NotImplemented`."""
        return self._store.known_slot(address, slot, self.number)

    def code(self, code_hash: bytes) -> bytes | None:
        """Return the code with this hash; None if no block contains it."""
        return b"" if code_hash == EMPTY_CODE_HASH else self._store.code(code_hash)

    def block_hash(self, number: int) -> Known[bytes]:
        """Return the hash of an earlier block, `NotImplemented` of one before the anchor."""
        found = self._store.block_hash(number)
        return NotImplemented if found is None else found


class Snapshots:
    """An LRU cache of snapshots by block number, each with the cache of the one before; any thread may read."""

    def __init__(
        self,
        store: StoreView,
        max_snapshots: int = MAX_SNAPSHOTS,
        *,
        remote: RemoteTable | None = None,
    ) -> None:
        """Read a store, and below it the remote of a fork."""
        self._store = store
        self._remote = remote
        self._snapshots: BoundedMap[int, Snapshot] = BoundedMap(max_snapshots)
        self._lock = Lock()
        self._prepared: tuple[Overlay, Snapshot] | None = None

    def after(self, number: int) -> Snapshot:
        """Return the state after block `number`."""
        with self._lock:
            snapshot = self._snapshots.touch(number)
            if snapshot is None:
                snapshot = Snapshot(self._state(number))
                self._snapshots.put(number, snapshot)
            return snapshot

    def advance(self, number: int, overlay: Overlay) -> Snapshot:
        """Cache the state after block `number`, which the store has and `overlay` led to."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] is overlay:
            snapshot = prepared[1]
        else:
            snapshot = overlay.seal(self._state(number))
        with self._lock:
            self._snapshots.put(number, snapshot)
        return snapshot

    def prepare(self, number: int, overlay: Overlay) -> None:
        """Prepare what `advance` caches next, after the store has it; any thread may call it."""
        self._prepared = overlay, overlay.seal(self._state(number))

    def _state(self, number: int) -> HistoricalState | ForkedState:
        if self._remote is None:
            return HistoricalState(self._store, number)
        return ForkedState(self._store, number, self._remote)

    def evict_above(self, number: int) -> None:
        """Evict the states of reverted blocks."""
        with self._lock:
            self._snapshots.pop_all(number.__lt__)
