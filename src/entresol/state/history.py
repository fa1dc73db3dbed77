"""The state after any block, read from the store."""

from __future__ import annotations

from entresol._native import Account
from entresol.errors import StoreFailed
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.storage.readers import StateReader


class HistoricalState:
    """The state after block `number`, as the source of an engine snapshot."""

    def __init__(self, store: StateReader, number: int) -> None:
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
