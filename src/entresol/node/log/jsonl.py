"""Log entries as JSON lines, with level, time, message and fields."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from entresol.node.log.entries import (
        BatchServed,
        ConsoleLogged,
        LogMessage,
        RejectionsSuppressed,
        RequestRejected,
        RequestServed,
        TransactionIncluded,
    )
    from entresol.rpc.jsonrpc.errors import ErrorObject


class JsonLogFormat:
    """Formats entries as JSON lines; the error of a request is a field, not a level."""

    def request(self, entry: RequestServed) -> str:
        """Format a request."""
        fields = {"method": entry.method, "ms": _ms(entry.seconds)}
        return json_line("info", "request", _layer(entry.layer) | fields | _error(entry.error))

    def batch(self, entry: BatchServed) -> str:
        """Format a batch."""
        fields = {
            "calls": entry.methods.total(),
            "methods": dict(entry.methods),
            "ms": _ms(entry.seconds),
            "failed": entry.failed,
        }
        return json_line("info", "batch", _layer(entry.layer) | fields | _error(entry.error))

    def rejection(self, entry: RequestRejected) -> str:
        """Format a rejection."""
        fields = {"peer": entry.peer, "status": entry.status, "reason": entry.reason}
        return json_line("info", "rejected", _layer(entry.layer) | fields)

    def suppressed(self, entry: RejectionsSuppressed) -> str:
        """Format the number of further rejections."""
        return json_line("info", "rejected more", _layer(entry.layer) | {"requests": entry.count})

    def transaction(self, entry: TransactionIncluded) -> str:
        """Format a transaction."""
        fields: dict[str, Any] = {
            "hash": str(entry.hash),
            "from": str(entry.sender),
            "to": None if entry.to is None else str(entry.to),
            "gasUsed": entry.gas_used,
            "block": entry.block,
            "blockHash": str(entry.block_hash),
            "blockTime": entry.timestamp,
            "succeeded": entry.succeeded,
        }
        if entry.created is not None and entry.succeeded:
            fields["created"] = str(entry.created)
        if entry.failure is not None:
            fields["failure"] = entry.failure
        if entry.call is not None:
            fields["call"] = entry.call
        for name in ("events", "console", "trace"):
            if lines := getattr(entry, name):
                fields[name] = list(lines)
        return json_line("info", "transaction", _layer(entry.layer) | fields)

    def console(self, entry: ConsoleLogged) -> str:
        """Format what a call printed."""
        fields = {"method": entry.method, "lines": list(entry.lines)}
        return json_line("info", "console.log", _layer(entry.layer) | fields)

    def message(self, entry: LogMessage) -> str:
        """Format a message, with its stack trace as a field."""
        fields = {"source": entry.source}
        if entry.trace is not None:
            fields["trace"] = entry.trace
        return json_line(entry.level, entry.message, fields)


def json_line(level: str, message: str, fields: dict[str, Any]) -> str:
    """Return an entry as one line of JSON."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry = {"level": level, "time": now, "message": message, "fields": fields}
    try:
        return msgspec.json.encode(entry).decode()
    except UnicodeEncodeError:
        # A lone surrogate is valid in a Python string, but not in UTF-8.
        return json_line(
            level, _encodable(message), {key: _encodable(value) for key, value in fields.items()}
        )


def _layer(layer: str) -> dict[str, Any]:
    return {"layer": layer} if layer else {}


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 3)


def _error(error: ErrorObject | None) -> dict[str, Any]:
    return {} if error is None else {"error": msgspec.to_builtins(error)}


def _encodable(value: object) -> str:
    return str(value).encode(errors="replace").decode()
