"""What a contract said when it reverted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import ExecutionFailed, ExecutionHalted, ExecutionReverted

if TYPE_CHECKING:
    from entresol._native import ExecutionResult

ERROR_SELECTOR: Final = bytes.fromhex("08c379a0")
PANIC_SELECTOR: Final = bytes.fromhex("4e487b71")

MAX_REASON_BYTES: Final = 4_096
"""How much of a reason is told; the data is always kept whole."""

PANICS: Final = {
    0x00: "generic/unspecified error",
    0x01: "assertion failed",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "failed to convert value into enum type",
    0x22: "storage byte array incorrectly encoded",
    0x31: "called `.pop()` on an empty array",
    0x32: "array out-of-bounds access",
    0x41: "memory allocation error",
    0x51: "called an invalid internal function",
}
"""The panics of the Solidity compiler, worded as anvil words them."""

_SELECTOR_SIZE: Final = 4
_WORD: Final = 32


def revert_reason(data: bytes) -> str | None:
    """Return what `Error(string)` or `Panic(uint256)` says, or None for anything else.

    A custom error has no reason, since only its author can name it; neither has a malformed one.
    """
    selector, arguments = data[:_SELECTOR_SIZE], data[_SELECTOR_SIZE:]
    if selector == ERROR_SELECTOR:
        return _string(arguments)
    if selector == PANIC_SELECTOR:
        return _panic(arguments)
    return None


def failure_of(outcome: ExecutionResult) -> ExecutionFailed | None:
    """Return the error that stands for an outcome, or None for a success."""
    status = outcome.status
    if status == "success":
        return None
    if status == "revert":
        data = outcome.output
        return ExecutionReverted(data, revert_reason(data))
    return ExecutionHalted(outcome.reason)


def _panic(arguments: bytes) -> str | None:
    if len(arguments) < _WORD:
        return None
    code = int.from_bytes(arguments[:_WORD])
    return f"panic: {PANICS.get(code, 'unknown code')} ({code:#04x})"


def _string(arguments: bytes) -> str | None:
    start = _number(arguments, 0)
    size = None if start is None else _number(arguments, start)
    if start is None or size is None:
        return None
    start += _WORD
    if size > len(arguments) - start:
        return None
    text = arguments[start : start + min(size, MAX_REASON_BYTES)].decode(errors="replace")
    return text if size <= MAX_REASON_BYTES else text + "…"


def _number(arguments: bytes, start: int) -> int | None:
    """Return the word at `start`, or None if it is not all there."""
    word = arguments[start : start + _WORD]
    return int.from_bytes(word) if len(word) == _WORD else None
