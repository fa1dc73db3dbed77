"""Preimages of the hashed keys of tries: addresses and slots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final

from entresol._native import keccak256
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from entresol.primitives.values import Hash32
    from entresol.storage.tables import StateKeys

MAX_KEYS: Final = 65_536
"""How many addresses, or slots of one account, are hashed: half a second's work. Others have no preimage."""

MAX_CACHED: Final = 4
"""How many accounts' preimages are cached, so that paging through one hashes its slots once."""


class Preimages:
    """Finds the addresses and slots that the keys of tries are hashes of, for one head; any thread may use it."""

    def __init__(self, keys: StateKeys, max_keys: int = MAX_KEYS) -> None:
        self._keys = keys
        self._max_keys = max_keys
        self._cache: BoundedMap[tuple[bytes | None, Hash32], Mapping[bytes, bytes]] = BoundedMap(
            MAX_CACHED
        )
        self._lock = Lock()

    def addresses(self, head: Hash32) -> Mapping[bytes, bytes]:
        """Return addresses by their hashes; `head` is the hash of the chain's last block."""
        return self._cached(None, head)

    def slots(self, address: bytes, head: Hash32) -> Mapping[bytes, bytes]:
        """Return the slots of an account by their hashes."""
        return self._cached(address, head)

    def _cached(self, address: bytes | None, head: Hash32) -> Mapping[bytes, bytes]:
        key = address, head
        with self._lock:
            found = self._cache.touch(key)
        if found is None:
            keys = self._keys.addresses() if address is None else self._keys.slots(address)
            found = {keccak256(key): key for key in islice(keys, self._max_keys)}
            with self._lock:
                self._cache.put(key, found)
        return found
