"""Log entries as values, and their formats: text for people, JSON lines for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.errors import ErrorObject

MAX_TEXT: Final = 300
"""Characters of what a client has sent."""

MAX_LINE: Final = 4_000
"""Characters of a line of `console.log` or of a call tree, and of a message of the node, which ends with what to do."""

WIDTH: Final = 44
TIME_WIDTH: Final = 11
MAX_BATCH_METHODS: Final = 3
"""How many methods of a batch are listed."""

STACK_TRACE: Final = "Stack trace"
REJECTED: Final = "(rejected)"
"""Takes the place of the method, which was not read."""

_PLAIN: Final = {"dim": "", "red": "", "green": "", "yellow": "", "bold": "", "end": ""}

_ANSI: Final = {
    "dim": "\x1b[2m",
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "bold": "\x1b[1m",
    "end": "\x1b[0m",
}


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
    contract: str | None = None
    """The contract that it calls or creates, if its source is known."""
    call: str | None = None
    """The function that it calls, with arguments, from -v on."""
    events: Sequence[str] = ()
    """The logs that it emitted, from -vv on."""
    console: Sequence[str] = ()
    """The lines that it printed by `console.log`."""
    trace: Sequence[str] = ()
    """The lines of its call tree."""
    stack: Sequence[str] = ()
    """Why and where in the source it failed, if that is known."""
    layer: str = ""


class ConsoleLogged(msgspec.Struct, frozen=True):
    """Lines that a call or an estimate printed by `console.log`, or the stack trace of one that failed."""

    method: str
    lines: Sequence[str]
    layer: str = ""
    label: str = "console.log"


class LogMessage(msgspec.Struct, frozen=True):
    """A message of a Python logger."""

    level: str
    message: str
    source: str
    trace: str | None = None


class TextLogFormat:
    """Formats a request as a line and a transaction as an indented block."""

    def __init__(self, *, colours: bool) -> None:
        style = _ANSI if colours else _PLAIN
        self._dim, self._bold, self._end = style["dim"], style["bold"], style["end"]
        self._bad, self._warn = style["red"], style["yellow"]
        self._ok = f"{style['green']}ok{self._end}"

    def request(self, entry: RequestServed) -> str:
        """Format the method, the time and the result."""
        result = self._ok if entry.error is None else self._error(entry.error)
        return self._line(_padded(entry.layer, entry.method), entry.seconds, result)

    def batch(self, entry: BatchServed) -> str:
        """Format the number of calls, their methods, and how many failed."""
        calls = entry.methods.total()
        what = _batch(_with_layer(entry.layer, f"batch of {calls}: "), entry.methods)
        result = self._ok if entry.error is None else self._error(entry.error)
        if entry.failed and calls > 1:
            result = f"{self._bad}{entry.failed} of {calls} failed{self._end}, first: {result}"
        if not calls:
            what = _with_layer(entry.layer, "batch")
        return self._line(what.ljust(WIDTH), entry.seconds, result)

    def rejection(self, entry: RequestRejected) -> str:
        """Format the client's address and the reason."""
        what = _with_layer(entry.layer, f"{REJECTED} {entry.peer}").ljust(WIDTH)
        result = f"{self._bad}{entry.status}: {printable(entry.reason)}{self._end}"
        return f"{what} {'':{TIME_WIDTH}}  {result}"

    def suppressed(self, entry: RejectionsSuppressed) -> str:
        """Format the number of further rejections."""
        return _with_layer(entry.layer, f"{REJECTED} {entry.count:,} more")

    def transaction(self, entry: TransactionIncluded) -> str:
        """Format a transaction and its result."""
        rows = [
            (_with_layer(entry.layer, "Transaction"), str(entry.hash)),
            ("From", _checksummed(entry.sender)),
        ]
        if entry.to is not None:
            rows.append(("To", _named(_checksummed(entry.to), entry.contract)))
        if entry.call is not None:
            rows.append(("Call", printable(entry.call, MAX_LINE)))
        if entry.created is not None and entry.succeeded:
            created = _named(entry.created.checksummed(), entry.contract)
            rows.append(("Contract created", created))
        rows += [
            ("Gas used", f"{entry.gas_used:,}"),
            ("Block number", f"{entry.block:,}"),
            ("Block hash", str(entry.block_hash)),
            ("Block time", _time(entry.timestamp)),
        ]
        if not entry.succeeded:
            why = printable(entry.failure or "the transaction failed")
            rows.append(("Failed", f"{self._bad}{why}{self._end}"))
        rows += _labelled("Events", entry.events)
        rows += _labelled("console.log", entry.console)
        # Its first line is the reason, which stands above.
        is_said = bool(entry.stack) and entry.stack[0] == entry.failure
        rows += _labelled(STACK_TRACE, entry.stack[1:] if is_said else entry.stack)
        block = self._rows(rows)
        if entry.trace:
            tree = "\n".join(f"      {printable(line, MAX_LINE)}" for line in entry.trace)
            block = f"{block}\n    {self._dim}Traces{self._end}\n{tree}"
        return f"\n{block}\n"

    def console(self, entry: ConsoleLogged) -> str:
        """Format what a call printed, as rows that precede the line of its request."""
        return self._rows(_labelled(_with_layer(entry.layer, entry.label), entry.lines))

    def message(self, entry: LogMessage) -> str:
        """Format a message, with the stack trace below it."""
        colour = {"info": "", "debug": self._dim, "warning": self._warn}.get(entry.level, self._bad)
        end = self._end if colour else ""
        label = "" if entry.level == "info" else f"{entry.level}: "
        line = f"{colour}{label}{printable(entry.message, MAX_LINE)}{end}"
        return line if entry.trace is None else f"{line}\n{entry.trace}"

    def _rows(self, rows: Iterable[tuple[str, str]]) -> str:
        return "\n".join(f"    {self._dim}{name:<18}{self._end}{value}" for name, value in rows)

    def _line(self, what: str, seconds: float, result: str) -> str:
        return f"{what} {self._dim}{seconds * 1e3:{TIME_WIDTH - 3}.2f} ms{self._end}  {result}"

    def _error(self, error: ErrorObject) -> str:
        text = printable(error.message)
        if isinstance(error.data, str) and error.code != 3:
            text = f"{text} ({printable(error.data)})"
        return f"{self._bad}error {error.code}: {text}{self._end}"


def printable(text: str, limit: int = MAX_TEXT) -> str:
    """Escape control characters: text of clients and contracts must not control the terminal."""
    if len(text) > limit:
        text = text[:limit] + "…"
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _labelled(label: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        yield label, printable(line, MAX_LINE)
        label = ""


@lru_cache(maxsize=1_024)
def _checksummed(address: Address) -> str:
    """Return the text of an address: most are those of few accounts."""
    return address.checksummed()


@lru_cache(maxsize=16)
def _time(timestamp: int) -> str:
    """Return a time as text; a chain may be at a time that no calendar has."""
    try:
        return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def _named(address: str, contract: str | None) -> str:
    return address if contract is None else f"{address} ({printable(contract)})"


def _with_layer(layer: str, what: str) -> str:
    return f"{layer} {what}" if layer else what


@lru_cache(maxsize=1_024)
def _padded(layer: str, method: str) -> str:
    return printable(_with_layer(layer, method), WIDTH - 1).ljust(WIDTH)


def _batch(text: str, methods: Counter[str]) -> str:
    """Add to the name of a batch as many of its methods as the column has room for, at least a part of one."""
    items = [_times(*item) for item in methods.most_common(MAX_BATCH_METHODS)]
    for at, item in enumerate(items):
        end = "" if at + 1 == len(methods) else ", …"
        if len(text + item + end) > WIDTH:
            room = WIDTH - len(text) - 1
            return f"{text}…" if at else f"{text}{item[:room]}…"
        text += item + (", " if end else "")
    return text if len(items) == len(methods) else f"{text}…"


def _times(method: str, count: int) -> str:
    return printable(method) if count == 1 else f"{count} {printable(method)}"


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
        if entry.contract is not None:
            fields["contract"] = entry.contract
        if entry.call is not None:
            fields["call"] = entry.call
        for name in ("events", "console", "trace", "stack"):
            if lines := getattr(entry, name):
                fields[name] = list(lines)
        return json_line("info", "transaction", _layer(entry.layer) | fields)

    def console(self, entry: ConsoleLogged) -> str:
        """Format what a call printed."""
        fields = {"method": entry.method, "lines": list(entry.lines)}
        return json_line("info", entry.label, _layer(entry.layer) | fields)

    def message(self, entry: LogMessage) -> str:
        """Format a message, with its stack trace as a field."""
        fields = {"source": entry.source}
        if entry.trace is not None:
            fields["trace"] = entry.trace
        return json_line(entry.level, entry.message, fields)


LogFormat: TypeAlias = TextLogFormat | JsonLogFormat
"""Formats entries as lines."""


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
