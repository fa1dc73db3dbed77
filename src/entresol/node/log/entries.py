"""What can be told of a node's work, before it is text of any kind."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import msgspec

from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.errors import ErrorObject


class RequestServed(msgspec.Struct, frozen=True):
    """A request that was answered; `method` is what the client wrote."""

    method: str
    seconds: float
    failure: ErrorObject | None
    layer: str = ""


class BatchServed(msgspec.Struct, frozen=True):
    """A batch that was answered; `failure` is the first of its calls', or its own."""

    methods: Counter[str]
    seconds: float
    failed: int
    failure: ErrorObject | None
    layer: str = ""


class RequestRejected(msgspec.Struct, frozen=True):
    """A request that was rejected before its method could be read; `status` is HTTP's or a WebSocket's."""

    status: int
    reason: str
    peer: str
    layer: str = ""


class MoreRejected(msgspec.Struct, frozen=True):
    """Further requests that were rejected, too many to tell one by one."""

    count: int
    layer: str = ""


class TransactionIncluded(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that is in a sealed block."""

    hash: Hash32
    sender: Address
    to: Address | None
    created: Address | None
    gas_used: int
    block: int
    block_hash: Hash32
    succeeded: bool
    failure: str | None
    """Why it failed, if this node executed it."""
    layer: str = ""


class LogMessage(msgspec.Struct, frozen=True):
    """Anything else, in words."""

    level: str
    message: str
    source: str
    trace: str | None = None


class LogFormat(Protocol):
    """A way to write entries down."""

    def answered(self, entry: RequestServed) -> str:
        """Write a request down."""

    def batch(self, entry: BatchServed) -> str:
        """Write a batch down."""

    def rejected(self, entry: RequestRejected) -> str:
        """Write a rejection down."""

    def more_rejected(self, entry: MoreRejected) -> str:
        """Write down that there were more."""

    def included(self, entry: TransactionIncluded) -> str:
        """Write a transaction down."""

    def note(self, entry: LogMessage) -> str:
        """Write anything else down."""
