"""What a mempool tells of its changes."""

from __future__ import annotations

import msgspec

from entresol.errors import EntresolError


class TransactionAdded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of the pool when a transaction was added.

    `promoted` names what is pending only now, in the order of nonces, the transaction itself
    included if it is pending. `evicted` names what had to leave for it.
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
    """What became of the pool when the head moved."""

    promoted: tuple[bytes, ...]
    dropped: tuple[TransactionDropped, ...]
