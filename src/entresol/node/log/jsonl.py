"""Entries as machines read them: a JSON object a line, with level, time, message and fields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from entresol.node.log.entries import (
        BatchServed,
        LogMessage,
        MoreRejected,
        RequestRejected,
        RequestServed,
        TransactionIncluded,
    )
    from entresol.rpc.jsonrpc.errors import ErrorObject


class JsonLines:
    """An object a line; what goes wrong in a request is a field of it, not its level."""

    def answered(self, entry: RequestServed) -> str:
        """Write a request down."""
        fields = {"method": entry.method, "ms": _ms(entry.seconds)}
        return line("info", "request", _on(entry.layer) | fields | _failed(entry.failure))

    def batch(self, entry: BatchServed) -> str:
        """Write a batch down."""
        fields = {
            "calls": entry.methods.total(),
            "methods": dict(entry.methods),
            "ms": _ms(entry.seconds),
            "failed": entry.failed,
        }
        return line("info", "batch", _on(entry.layer) | fields | _failed(entry.failure))

    def rejected(self, entry: RequestRejected) -> str:
        """Write a rejection down."""
        fields = {"peer": entry.peer, "status": entry.status, "reason": entry.reason}
        return line("info", "rejected", _on(entry.layer) | fields)

    def more_rejected(self, entry: MoreRejected) -> str:
        """Write down that there were more."""
        return line("info", "rejected more", _on(entry.layer) | {"requests": entry.count})

    def included(self, entry: TransactionIncluded) -> str:
        """Write a transaction down."""
        fields: dict[str, Any] = {
            "hash": str(entry.hash),
            "from": str(entry.sender),
            "to": None if entry.to is None else str(entry.to),
            "gasUsed": entry.gas_used,
            "block": entry.block,
            "blockHash": str(entry.block_hash),
            "succeeded": entry.succeeded,
        }
        if entry.created is not None and entry.succeeded:
            fields["created"] = str(entry.created)
        if entry.failure is not None:
            fields["failure"] = entry.failure
        return line("info", "transaction", _on(entry.layer) | fields)

    def note(self, entry: LogMessage) -> str:
        """Write a note down."""
        fields = {"source": entry.source}
        if entry.trace is not None:
            fields["trace"] = entry.trace
        return line(entry.level, entry.message, fields)


def line(level: str, message: str, fields: dict[str, Any]) -> str:
    """Return one line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry = {"level": level, "time": now, "message": message, "fields": fields}
    try:
        return msgspec.json.encode(entry).decode()
    except UnicodeEncodeError:
        # Half a surrogate pair is a Python string, but no text.
        return line(level, _text(message), {key: _text(value) for key, value in fields.items()})


def _on(layer: str) -> dict[str, Any]:
    return {"layer": layer} if layer else {}


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)


def _failed(failure: ErrorObject | None) -> dict[str, Any]:
    return {} if failure is None else {"error": msgspec.to_builtins(failure)}


def _text(value: object) -> str:
    return str(value).encode(errors="replace").decode()
