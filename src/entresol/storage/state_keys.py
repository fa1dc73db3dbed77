"""The addresses and slots that a chain has ever written, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.storage import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.storage.database.key_value import KeyValueStore

_ADDRESS_SIZE = 20
_SLOT_SIZE = 32


class StateKeys:
    """Lists the keys of the state; those that were deleted since are among them."""

    def __init__(self, db: KeyValueStore) -> None:
        self._db = db

    def addresses(self) -> Iterator[bytes]:
        """Yield the addresses of all accounts that any block has changed."""
        return self._distinct(tables.ACCOUNT, _ADDRESS_SIZE)

    def slots(self, address: bytes) -> Iterator[bytes]:
        """Yield the slots of an account that any block has changed."""
        return self._distinct(tables.SLOT + address, _SLOT_SIZE)

    def _distinct(self, prefix: bytes, size: int) -> Iterator[bytes]:
        """Yield what follows `prefix` in the keys; the history of each is skipped by a seek."""
        start = prefix
        while (found := self._db.first_at_least(start, prefix)) is not None:
            key = found[0][: len(prefix) + size]
            yield key[len(prefix) :]
            start = key + tables.LAST_NUMBER + b"\0"
