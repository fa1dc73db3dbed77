"""The call tree of a transaction as text, with the names that ABIs and an explainer give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import ERROR_SELECTOR, PANIC_SELECTOR, describe_revert
from entresol.execution.call_frames import CallFrame, FrameLog
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.terminal.console_log import CONSOLE, MAX_LINES, formatted_call
from entresol.terminal.explainer import NamedContract

if TYPE_CHECKING:
    from entresol.contracts.abi_registry import AbiRegistry
    from entresol.terminal.explainer import ContractNames

MAX_INDENT: Final = 64
"""Levels that are indented further; calls may be nested a thousand deep."""

MAX_DATA: Final = 256
"""Bytes of data that are shown as hex."""

_CREATIONS: Final = frozenset({"CREATE", "CREATE2"})

_SELECTOR: Final = 4


class CallTree:
    """Draws the frames of an execution, decoded by known ABIs; known contracts have their names."""

    def __init__(self, abis: AbiRegistry, names: ContractNames | None = None) -> None:
        self._abis = abis
        self._names = names

    def draw(self, root: CallFrame) -> list[str]:
        """Return the lines of a tree; iterative, because calls may be nested deeply."""
        lines = [self._title(root)]
        stack = [(root, root.parts())]
        while stack and len(lines) < MAX_LINES:
            frame, parts = stack[-1]
            part = next(parts, None)
            if part is None:
                lines.append(_branch(len(stack), is_last=True) + self._end(frame))
                stack.pop()
            elif isinstance(part, FrameLog):
                lines.append(_branch(len(stack)) + self._event(frame, part))
            else:
                lines.append(_branch(len(stack)) + self._title(part))
                stack.append((part, part.parts()))
        return lines if not stack else [*lines, "… (more lines are not shown)"]

    def _title(self, frame: CallFrame) -> str:
        gas = f"[{int(frame.gas_used, 16)}]"
        address = "<unknown>" if frame.to is None else Address.parse(frame.to).checksummed()
        name = self._contract(frame).name
        if frame.type in _CREATIONS:
            return f"{gas} → new {address if name is None else f'{name}@{address}'}"
        if frame.type == "SELFDESTRUCT":
            return f"{gas} {Address.parse(frame.sender).checksummed()}::selfdestruct → {address}"
        data = Data.parse(frame.input)
        if frame.to == CONSOLE and (text := formatted_call(data)) is not None:
            return f"{gas} console::log({text!r}) [{frame.type.lower()}]"
        value = int(Quantity.parse(frame.value))
        sent = f"{{value: {value}}}" if value and frame.type == "CALL" else ""
        kind = "" if frame.type == "CALL" else f" [{frame.type.lower()}]"
        called = address if name is None else name
        return f"{gas} {called}::{self._call(frame, data, sent)}{kind}"

    def _contract(self, frame: CallFrame) -> NamedContract:
        if self._names is None:
            return NamedContract(None, self._abis)
        return self._names.of_frame(frame)

    def _call(self, frame: CallFrame, data: bytes, sent: str) -> str:
        if not data:
            return f"fallback{sent}()"
        decoded = self._contract(frame).abis.call(data)
        if decoded is not None:
            name, _, arguments = decoded.partition("(")
            return f"{name}{sent}({arguments}"
        if len(data) < _SELECTOR:
            return f"fallback{sent}({_hex(data)})"
        return f"{data[:_SELECTOR].hex()}{sent}({data[_SELECTOR:][:MAX_DATA].hex()}{_cut(data)})"

    def _event(self, frame: CallFrame, log: FrameLog) -> str:
        topics = [bytes(Hash32.parse(topic)) for topic in log.topics]
        data = bytes(Data.parse(log.data))
        return f"emit {describe_event(self._contract(frame).abis, topics, data)}"

    def _end(self, frame: CallFrame) -> str:
        output = bytes(Data.parse(frame.output))
        if frame.error is not None:
            return f"← {self._failure(frame, frame.error, output)}"
        if frame.type in _CREATIONS:
            return f"← [Return] {len(output)} bytes of code"
        if not output:
            return "← [Stop]"
        decoded = self._contract(frame).abis.output(Data.parse(frame.input), output)
        return f"← [Return] {_hex(output) if decoded is None else decoded}"

    def _failure(self, frame: CallFrame, error: str, output: bytes) -> str:
        if error != "execution reverted":
            return f"[{error}]"
        return (
            f"[Revert] {describe_error(self._contract(frame).abis, output) or 'EvmError: Revert'}"
        )


def describe_error(abis: AbiRegistry, data: bytes, *, named: bool = False) -> str | None:
    """Return what an execution reverted with, custom errors by name if they are known; None if it is empty.

    `named` if the arguments of a custom error have names; in a call tree they have none.
    """
    if data[:_SELECTOR] in (ERROR_SELECTOR, PANIC_SELECTOR):
        return describe_revert(data)
    return abis.error(data, named=named) or describe_revert(data)


def describe_event(abis: AbiRegistry, topics: list[bytes], data: bytes) -> str:
    """Return an event by name if it is known, else its topics and data."""
    decoded = abis.event(topics, data)
    if decoded is not None:
        return decoded
    shown = [f"topic {number}: 0x{topic.hex()}" for number, topic in enumerate(topics)]
    return ", ".join([*shown, f"data: {_hex(data)}"])


def _branch(depth: int, *, is_last: bool = False) -> str:
    return "  " + "│   " * min(depth - 1, MAX_INDENT) + ("└─ " if is_last else "├─ ")


def _hex(data: bytes) -> str:
    return f"0x{data[:MAX_DATA].hex()}{_cut(data)}"


def _cut(data: bytes) -> str:
    return "…" if len(data) > MAX_DATA else ""
