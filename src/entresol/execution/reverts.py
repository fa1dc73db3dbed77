"""Decode why an execution failed: revert reasons, panics and halts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import PANIC_SELECTOR, describe_revert, revert_reason
from entresol.errors import ExecutionFailed, ExecutionHalted, ExecutionReverted

if TYPE_CHECKING:
    from entresol._native import ExecutionResult

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
