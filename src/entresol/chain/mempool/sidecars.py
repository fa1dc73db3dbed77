"""The sidecars of sealed blob transactions: blobs, commitments and proofs, which blocks do not contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol._native import BlobSidecar
    from entresol.primitives.transactions import Transaction

MAX_SIDECAR_BYTES: Final = 128 * 1024 * 1024
"""How many bytes the sidecars of sealed transactions take: about a thousand blobs."""


class _Sealed(NamedTuple):
    number: int
    sidecar: BlobSidecar


class BlobSidecars:
    """The last sidecars by transaction hash, up to `max_bytes`; in memory only: no block, root or state depends on blobs."""

    def __init__(self, max_bytes: int = MAX_SIDECAR_BYTES) -> None:
        self.max_bytes = max_bytes
        self.size = 0
        """How many bytes they take."""
        self._sealed: dict[bytes, _Sealed] = {}

    def add(self, number: int, transactions: Iterable[Transaction]) -> None:
        """Add those of block `number`."""
        for transaction in transactions:
            if transaction.sidecar is not None:
                self._remove(transaction.hash)
                self._sealed[transaction.hash] = _Sealed(number, transaction.sidecar)
                self.size += transaction.sidecar.size
        while self.size > self.max_bytes:
            self._remove(next(iter(self._sealed)))

    def get(self, transaction_hash: bytes) -> BlobSidecar | None:
        """Return the sidecar of a sealed transaction."""
        found = self._sealed.get(transaction_hash)
        return None if found is None else found.sidecar

    def blob(self, versioned_hash: bytes) -> bytes | None:
        """Return the blob that sealed transactions name by this hash."""
        blobs = (sealed.sidecar.blob(versioned_hash) for sealed in self._sealed.values())
        return next((blob for blob in blobs if blob is not None), None)

    def drop_above(self, number: int) -> None:
        """Drop those of the blocks above `number`, which are reverted."""
        if self._sealed:
            reverted = [key for key, sealed in self._sealed.items() if sealed.number > number]
            for transaction_hash in reverted:
                self._remove(transaction_hash)

    def _remove(self, transaction_hash: bytes) -> None:
        found = self._sealed.pop(transaction_hash, None)
        if found is not None:
            self.size -= found.sidecar.size
