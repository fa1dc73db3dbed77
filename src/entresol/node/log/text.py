"""Entries as people read them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

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

LONGEST: Final = 300
WIDTH: Final = 44
TIME_WIDTH: Final = 11
NAMED: Final = 3
"""How many methods of a batch are named."""

REJECTED: Final = "(rejected)"
"""Stands where the method would: no request was read far enough to have one."""

_PLAIN: Final = {"dim": "", "red": "", "green": "", "yellow": "", "bold": "", "end": ""}
_ANSI: Final = {
    "dim": "\x1b[2m",
    "red": "\x1b[31m",
    "green": "\x1b[32m",
    "yellow": "\x1b[33m",
    "bold": "\x1b[1m",
    "end": "\x1b[0m",
}


class TextLines:
    """A line a request, an indented block a transaction; with colours if they are wanted."""

    def __init__(self, *, colours: bool) -> None:
        style = _ANSI if colours else _PLAIN
        self._dim, self._bold, self._end = style["dim"], style["bold"], style["end"]
        self._bad, self._odd = style["red"], style["yellow"]
        self._ok = f"{style['green']}ok{self._end}"

    def answered(self, entry: RequestServed) -> str:
        """Write the method, how long it took and how it ended."""
        outcome = self._ok if entry.failure is None else self._failed(entry.failure)
        return self._line(_padded(_on(entry.layer, entry.method)), entry.seconds, outcome)

    def batch(self, entry: BatchServed) -> str:
        """Write how many calls there were, to which methods, and how many failed."""
        calls = entry.methods.total()
        named = [_times(*item) for item in entry.methods.most_common(NAMED)]
        more = ", …" if len(entry.methods) > NAMED else ""
        what = f"batch of {calls}: {', '.join(named)}{more}" if calls else "batch"
        outcome = self._ok if entry.failure is None else self._failed(entry.failure)
        if entry.failed and calls > 1:
            outcome = f"{self._bad}{entry.failed} of {calls} failed{self._end}, first: {outcome}"
        return self._line(_on(entry.layer, what).ljust(WIDTH), entry.seconds, outcome)

    def rejected(self, entry: RequestRejected) -> str:
        """Write who was rejected, and why."""
        what = _on(entry.layer, f"{REJECTED} {entry.peer}").ljust(WIDTH)
        told = f"{self._bad}{entry.status}: {printable(entry.reason)}{self._end}"
        return f"{what} {'':{TIME_WIDTH}}  {told}"

    def more_rejected(self, entry: MoreRejected) -> str:
        """Write how many more were rejected."""
        return _on(entry.layer, f"{REJECTED} {entry.count:,} more")

    def included(self, entry: TransactionIncluded) -> str:
        """Write what became of a transaction."""
        rows = [
            (_on(entry.layer, "Transaction"), str(entry.hash)),
            ("From", entry.sender.checksummed()),
        ]
        if entry.to is not None:
            rows.append(("To", entry.to.checksummed()))
        if entry.created is not None and entry.succeeded:
            rows.append(("Contract created", entry.created.checksummed()))
        rows += [
            ("Gas used", f"{entry.gas_used:,}"),
            ("Block", f"{entry.block:,}  {entry.block_hash}"),
        ]
        if not entry.succeeded:
            why = printable(entry.failure or "the transaction failed")
            rows.append(("Failed", f"{self._bad}{why}{self._end}"))
        block = "\n".join(f"    {self._dim}{name:<18}{self._end}{value}" for name, value in rows)
        return f"\n{block}\n"

    def note(self, entry: LogMessage) -> str:
        """Write a note, below it the trace of what went wrong."""
        colour = {"info": "", "debug": self._dim, "warning": self._odd}.get(entry.level, self._bad)
        end = self._end if colour else ""
        label = "" if entry.level == "info" else f"{entry.level}: "
        line = f"{colour}{label}{printable(entry.message)}{end}"
        return line if entry.trace is None else f"{line}\n{entry.trace}"

    def _line(self, what: str, seconds: float, outcome: str) -> str:
        return f"{what} {self._dim}{seconds * 1e3:{TIME_WIDTH - 3}.2f} ms{self._end}  {outcome}"

    def _failed(self, failure: ErrorObject) -> str:
        told = printable(failure.message)
        if failure.data is not None and failure.code != 3:
            told = f"{told} ({printable(failure.data)})"
        return f"{self._bad}error {failure.code}: {told}{self._end}"


def printable(text: str) -> str:
    """Make text safe to show: what clients and contracts say may be meant for the terminal."""
    if len(text) > LONGEST:
        text = text[:LONGEST] + "…"
    if text.isprintable():
        return text
    return "".join(it if it.isprintable() else it.encode("unicode_escape").decode() for it in text)


def _on(layer: str, what: str) -> str:
    """Say on which layer, if that is not the one that is always meant."""
    return f"{layer} {what}" if layer else what


@lru_cache(maxsize=1_024)
def _padded(method: str) -> str:
    return printable(method).ljust(WIDTH)


def _times(method: str, count: int) -> str:
    return printable(method) if count == 1 else f"{count} {printable(method)}"
