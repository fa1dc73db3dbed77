"""Log entries as values, and the interface of what formats them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import msgspec

from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.errors import ErrorObject


class RequestServed(msgspec.Struct, frozen=True):
    """A request with a response; `method` is what the client sent."""

    method: str
    seconds: float
    error: ErrorObject | None
    layer: str = ""


class BatchServed(msgspec.Struct, frozen=True):
    """A JSON-RPC batch with a response; `error` is the first of its calls', or its own."""

    methods: Counter[str]
    seconds: float
    failed: int
    error: ErrorObject | None
    layer: str = ""


class RequestRejected(msgspec.Struct, frozen=True):
    """A request that was rejected before it was dispatched; `status` is an HTTP status or a WebSocket close code."""

    status: int
    reason: str
    peer: str
    layer: str = ""


class RejectionsSuppressed(msgspec.Struct, frozen=True):
    """Rejected requests that were too many to be logged one by one."""

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
    timestamp: int
    succeeded: bool
    failure: str | None
    """Why it failed, if this process executed it."""
    call: str | None = None
    """The function that it calls, with arguments, from -v on."""
    events: Sequence[str] = ()
    """The logs that it emitted, from -vv on."""
    console: Sequence[str] = ()
    """The lines that it printed by `console.log`."""
    trace: Sequence[str] = ()
    """The lines of its call tree."""
    layer: str = ""


class ConsoleLogged(msgspec.Struct, frozen=True):
    """Lines that a call or an estimate printed by `console.log`."""

    method: str
    lines: Sequence[str]
    layer: str = ""


class LogMessage(msgspec.Struct, frozen=True):
    """A message of a Python logger."""

    level: str
    message: str
    source: str
    trace: str | None = None


class LogFormat(Protocol):
    """Formats entries as lines."""

    def request(self, entry: RequestServed) -> str:
        """Format a request."""

    def batch(self, entry: BatchServed) -> str:
        """Format a batch."""

    def rejection(self, entry: RequestRejected) -> str:
        """Format a rejection."""

    def suppressed(self, entry: RejectionsSuppressed) -> str:
        """Format the number of further rejections."""

    def transaction(self, entry: TransactionIncluded) -> str:
        """Format a transaction."""

    def console(self, entry: ConsoleLogged) -> str:
        """Format what a call printed."""

    def message(self, entry: LogMessage) -> str:
        """Format a message."""
