"""Results of changes to a mempool: transactions added, promoted, dropped."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol.errors import EntresolError


class TransactionAdded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of adding a transaction.

    `promoted` lists what becomes pending by it, in the order of nonces, with the transaction itself if it
    is pending. `evicted` lists what was evicted for it.
    """

    hash: bytes
    is_pending: bool
    replaced: bytes | None
    promoted: tuple[bytes, ...]
    evicted: tuple[bytes, ...]


class TransactionDropped(msgspec.Struct, frozen=True):
    """A transaction that left the pool without being included, and why."""

    hash: bytes
    reason: EntresolError


class PoolUpdated(msgspec.Struct, frozen=True):
    """The result of an update of the pool to a new head."""

    promoted: tuple[bytes, ...] = ()
    dropped: tuple[TransactionDropped, ...] = ()


NOTHING_UPDATED: Final = PoolUpdated()
"""What an empty pool has of any block."""
