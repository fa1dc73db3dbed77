"""Decode why an execution failed: revert reasons, panics and halts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import ExecutionFailed, ExecutionHalted, ExecutionReverted

if TYPE_CHECKING:
    from entresol._native import ExecutionResult

ERROR_SELECTOR: Final = bytes.fromhex("08c379a0")
PANIC_SELECTOR: Final = bytes.fromhex("4e487b71")

MAX_REASON_BYTES: Final = 4_096
"""A longer reason is cut in error messages; the error's data is always complete."""

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
"""The panic codes of Solidity, in anvil's wording."""

HARDHAT_PANICS: Final = {
    0x01: "Assertion error",
    0x11: "Arithmetic operation overflowed outside of an unchecked block",
    0x12: "Division or modulo division by zero",
    0x21: "Tried to convert a value into an enum, but the value was too big or negative",
    0x22: "Incorrectly encoded storage byte array",
    0x31: ".pop() was called on an empty array",
    0x32: "Array accessed at an out-of-bounds or negative index",
    0x41: "Too much memory was allocated, or an array was created that is too large",
    0x51: "Called a zero-initialized variable of internal function type",
}
"""The panic codes of Solidity, in Hardhat's wording."""

_SELECTOR_SIZE: Final = 4
_WORD: Final = 32


def describe_revert(data: bytes) -> str | None:
    """Return the text for what an execution reverted with, in anvil's wording; None if it is empty.

    A custom error is shown by its selector, because its ABI is not known.
    """
    reason = revert_reason(data) or _bare_string(data)
    if reason is not None or not data:
        return reason
    if is_text(data):
        return data[:MAX_REASON_BYTES].decode()
    if len(data) < _SELECTOR_SIZE:
        return f"custom error bytes 0x{data.hex()}"
    selector, arguments = data[:_SELECTOR_SIZE].hex(), data[_SELECTOR_SIZE:]
    shown = arguments[:MAX_REASON_BYTES].hex() + ("…" if len(arguments) > MAX_REASON_BYTES else "")
    return f"custom error 0x{selector}" + (f": {shown}" if shown else "")


def is_text(data: bytes) -> bool:
    """Return whether all bytes are printable ASCII, as of a contract that reverts with a bare string."""
    return data.isascii() and data.decode().isprintable()


def revert_reason(data: bytes) -> str | None:
    """Decode `Error(string)` or `Panic(uint256)`; return None for a custom error or malformed data."""
    selector, arguments = data[:_SELECTOR_SIZE], data[_SELECTOR_SIZE:]
    if selector == ERROR_SELECTOR:
        return _string(arguments)
    if selector == PANIC_SELECTOR:
        return _panic(arguments)
    return None


def hardhat_text(failure: ExecutionFailed) -> str:
    """Return the text of a failure as Hardhat words it."""
    if not isinstance(failure, ExecutionReverted):
        text = str(failure)
        if text.startswith("out of gas"):
            return "Transaction ran out of gas"
        shown = "invalid opcode" if text.startswith("invalid") and "opcode" in text else text
        return f"VM Exception while processing transaction: {shown}"
    data = failure.data
    if not data:
        return "Transaction reverted without a reason string"
    reverted = "VM Exception while processing transaction: reverted with"
    reason = revert_reason(data)
    if reason is None:
        return f"{reverted} an unrecognized custom error (return data: 0x{data.hex()})"
    if data.startswith(PANIC_SELECTOR):
        code = int.from_bytes(data[_SELECTOR_SIZE : _SELECTOR_SIZE + _WORD])
        return f"{reverted} panic code {code:#x} ({HARDHAT_PANICS.get(code, 'Unknown panic code')})"
    return f"{reverted} reason string '{reason}'"


def failure_of(result: ExecutionResult) -> ExecutionFailed | None:
    """Return the error that an execution ended in, or None if it succeeded."""
    status = result.status
    if status == "success":
        return None
    if status == "revert":
        data = result.output
        return ExecutionReverted(data, describe_revert(data))
    return ExecutionHalted(result.reason)


def _bare_string(data: bytes) -> str | None:
    """Decode a string without a selector, which some contracts revert with."""
    return _string(data) if len(data) % _WORD == 0 and _number(data, 0) == _WORD else None


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
    """Return the word at `start`, or None if the data ends before it does."""
    word = arguments[start : start + _WORD]
    return int.from_bytes(word) if len(word) == _WORD else None
