"""Call trees of transactions and what contracts print by console.log, as forge and anvil draw them."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol.contracts.abi_registry import AbiRegistry, project_abis
from entresol.errors import InvalidConfig, MalformedValue
from entresol.execution.reverts import ERROR_SELECTOR, PANIC_SELECTOR, describe_revert
from entresol.execution.trace.call_frames import CallFrame, FrameLog
from entresol.primitives import abi
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.console import ConsoleCalls
    from entresol.terminal.config import LogConfig


MAX_LINES: Final = 1_000
"""Lines of one tree, and of what one execution prints; a single call may contain any number of line breaks."""

NOT_A_NUMBER: Final = "NaN"

_MIXED: Final = ("uint256", "string", "bool", "address")
"""The types that the libraries have all combinations of, up to four."""
_ALONE: Final = ("int256", "bytes", *(f"bytes{size}" for size in range(1, 33)))
_IN_TABLES: Final = ("uint256", "int256", "string", "bool", "address", "bytes32", "bytes")

_SHORT: Final = {"uint256": "uint", "int256": "int"}

_SPECIFIER: Final = re.compile(r"%(?:([sdioxe%])|([0-9]{1,3})e)")
_MAX_SHIFT: Final = 78
"""The decimal digits of the largest number; a longer shift would only add zeros."""


MAX_INDENT: Final = 64
"""Levels that are indented further; calls may be nested a thousand deep."""

MAX_DATA: Final = 256
"""Bytes of data that are shown as hex."""

CONSOLE: Final = "0x000000000000000000636f6e736f6c652e6c6f67"

_CREATIONS: Final = frozenset({"CREATE", "CREATE2"})

_SELECTOR: Final = 4

ABI_FLAG: Final = "--abi"

MAX_ABI_FILES: Final = 10_000
"""Files that are read of one folder."""

MAX_ABI_FILE_BYTES: Final = 64 << 20


class _Signature(NamedTuple):
    kinds: tuple[str, ...]
    is_table: bool = False

    @property
    def types(self) -> str:
        return f"({','.join(self.kinds)})"


def console_lines(calls: ConsoleCalls) -> list[str]:
    """Return the lines that calls of `console.log` print; a call that cannot be decoded prints none."""
    lines: list[str] = []
    for data in calls.recorded:
        text = formatted_call(data)
        if text is not None:
            lines += re.split(r"\r?\n", text, maxsplit=MAX_LINES)
        if len(lines) > MAX_LINES:
            return [*lines[:MAX_LINES], "… (more lines are not shown)"]
    if calls.dropped:
        lines.append(f"… ({calls.dropped:,} more calls are not shown)")
    return lines


def formatted_call(data: bytes) -> str | None:
    """Return the text of one call, or None if it is no call of the libraries."""
    signature = _signatures().get(data[:4])
    if signature is None:
        return None
    try:
        values = abi.decode(signature.types, data[4:])
    except MalformedValue:
        return None
    typed = [
        Address(value) if kind == "address" else value
        for kind, value in zip(signature.kinds, values, strict=True)
    ]
    return _table(signature.kinds, typed) if signature.is_table else format_values(typed)


def format_values(values: list[Any]) -> str:
    """Return the text of values; if the first is a string, it is the format of the others."""
    rest = iter(values)
    parts = []
    if values and isinstance(values[0], str):
        text = _substitute(next(rest), rest)
        parts = [text] if values[0] else []
    return " ".join([*parts, *map(_as_text, rest)])


def _substitute(text: str, values: Iterator[Any]) -> str:
    """Replace the specifiers of `text` as long as there are values; others stay."""

    def replacement(match: re.Match[str]) -> str:
        specifier = match[1] or "e"
        if specifier == "%":
            return "%"
        for value in values:
            return _formatted(value, specifier, None if match[2] is None else int(match[2]))
        return match[0]

    return _SPECIFIER.sub(replacement, text)


def _formatted(value: Any, specifier: str, shift: int | None) -> str:
    """Format a value in anvil's way, where Hardhat's differs."""
    if specifier == "s":
        return _as_text(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if specifier == "o":
        return _as_text(value) if is_number else f"'{_as_text(value)}'"
    if isinstance(value, bytes):
        return _as_text(value) if specifier == "x" else NOT_A_NUMBER
    if isinstance(value, bool) and specifier == "d":
        return str(int(value))
    if not is_number:
        return NOT_A_NUMBER
    if specifier == "x":
        return hex(value % 2**256)
    return _scaled(value, shift) if specifier == "e" else str(value)


def _scaled(value: int, shift: int | None) -> str:
    """Move the decimal point to the left by `shift` digits, or after the first digit with an exponent."""
    sign, digits = "-" if value < 0 else "", str(abs(value))
    exponent = "" if shift is not None else f"e{len(digits) - 1}"
    places = len(digits) - 1 if shift is None else min(shift, _MAX_SHIFT)
    digits = digits.rjust(places + 1, "0")
    whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    return f"{sign}{whole}{'.' if fraction else ''}{fraction}{exponent}"


def _as_text(value: Any) -> str:
    if isinstance(value, Address):
        return value.checksummed()
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _table(kinds: tuple[str, ...], columns: list[Any]) -> str:
    """Return a row for each value of the last column, after its name or its index, as anvil draws it."""
    values = columns[-1][:MAX_LINES]
    typed = [_as_text(Address(it) if kinds[-1] == "address[]" else it) for it in values]
    names = columns[0] if len(columns) > 1 else range(len(typed))
    rows = [(str(name), value) for name, value in zip(names, typed, strict=False)]
    cells = [("(index)", "Values"), *rows]
    left, right = (max(len(row[at]) for row in cells) for at in (0, 1))
    head, *body = (f"│ {name:<{left}} │ {value:<{right}} │" for name, value in cells)
    top, middle, bottom = (
        f"{start}{'─' * (left + 2)}{cross}{'─' * (right + 2)}{end}"
        for start, cross, end in ("┌┬┐", "├┼┤", "└┴┘")
    )
    return "\n".join((top, head, middle, *body, bottom))


@cache
def _signatures() -> dict[bytes, _Signature]:
    """Return what the libraries call, by selector, whatever the name of the function in Solidity."""
    found: dict[bytes, _Signature] = {}
    for kinds in _logged_types():
        found[abi.selector(f"log({','.join(kinds)})")] = _Signature(kinds)
        # Old versions of Hardhat's library derived selectors from the short name of the type.
        short = ",".join(_SHORT.get(kind, kind) for kind in kinds)
        found[abi.selector(f"log({short})")] = _Signature(kinds)
    for item in _IN_TABLES:
        for kinds in ((f"{item}[]",), ("string[]", f"{item}[]")):
            found[abi.selector(f"table({','.join(kinds)})")] = _Signature(kinds, is_table=True)
    return found


def _logged_types() -> Iterator[tuple[str, ...]]:
    for count in range(5):
        yield from product(_MIXED, repeat=count)
    yield from ((kind,) for kind in _ALONE)
    yield "string", "int256"


class CallTree:
    """Draws the frames of an execution, decoded by known ABIs."""

    def __init__(self, abis: AbiRegistry) -> None:
        self._abis = abis

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
                lines.append(_branch(len(stack)) + self._event(part))
            else:
                lines.append(_branch(len(stack)) + self._title(part))
                stack.append((part, part.parts()))
        return lines if not stack else [*lines, "… (more lines are not shown)"]

    def _title(self, frame: CallFrame) -> str:
        gas = f"[{int(frame.gas_used, 16)}]"
        address = "<unknown>" if frame.to is None else Address.parse(frame.to).checksummed()
        if frame.type in _CREATIONS:
            return f"{gas} → new {address}"
        if frame.type == "SELFDESTRUCT":
            return f"{gas} {Address.parse(frame.sender).checksummed()}::selfdestruct → {address}"
        data = Data.parse(frame.input)
        if frame.to == CONSOLE and (text := formatted_call(data)) is not None:
            return f"{gas} console::log({text!r}) [{frame.type.lower()}]"
        value = int(Quantity.parse(frame.value))
        sent = f"{{value: {value}}}" if value and frame.type == "CALL" else ""
        kind = "" if frame.type == "CALL" else f" [{frame.type.lower()}]"
        return f"{gas} {address}::{self._call(data, sent)}{kind}"

    def _call(self, data: bytes, sent: str) -> str:
        if not data:
            return f"fallback{sent}()"
        decoded = self._abis.call(data)
        if decoded is not None:
            name, _, arguments = decoded.partition("(")
            return f"{name}{sent}({arguments}"
        if len(data) < _SELECTOR:
            return f"fallback{sent}({_hex(data)})"
        return f"{data[:_SELECTOR].hex()}{sent}({data[_SELECTOR:][:MAX_DATA].hex()}{_cut(data)})"

    def _event(self, log: FrameLog) -> str:
        topics = [bytes(Hash32.parse(topic)) for topic in log.topics]
        data = bytes(Data.parse(log.data))
        return f"emit {describe_event(self._abis, topics, data)}"

    def _end(self, frame: CallFrame) -> str:
        output = bytes(Data.parse(frame.output))
        if frame.error is not None:
            return f"← {self._failure(frame.error, output)}"
        if frame.type in _CREATIONS:
            return f"← [Return] {len(output)} bytes of code"
        if not output:
            return "← [Stop]"
        decoded = self._abis.output(Data.parse(frame.input), output)
        return f"← [Return] {_hex(output) if decoded is None else decoded}"

    def _failure(self, error: str, output: bytes) -> str:
        if error != "execution reverted":
            return f"[{error}]"
        return f"[Revert] {describe_error(self._abis, output) or 'EvmError: Revert'}"


def describe_error(abis: AbiRegistry, data: bytes) -> str | None:
    """Return what an execution reverted with, custom errors by name if they are known; None if it is empty."""
    if data[:_SELECTOR] in (ERROR_SELECTOR, PANIC_SELECTOR):
        return describe_revert(data)
    return abis.error(data) or describe_revert(data)


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


class _Artifact(msgspec.Struct):
    """An artifact of solc, Hardhat or Foundry, as far as it matters here."""

    abi: list[dict[str, Any]]


_artifact: Final = msgspec.json.Decoder(_Artifact | list[dict[str, Any]]).decode


def abis_of(config: LogConfig) -> AbiRegistry:
    """Return the ABIs of `--abi`, and after them those of the node's own contracts."""
    registry = AbiRegistry(project_abis)
    for path in map(Path, config.abi):
        if not path.is_dir():
            entries = read_abi(path)
            if entries is None or not registry.add(entries):
                raise InvalidConfig(ABI_FLAG, f"{path} is neither an ABI nor an artifact with one")
            continue
        for file in _files(path):
            # Folders of artifacts also have build information, which is none.
            registry.add(read_abi(file) or [])
    return registry


def read_abi(path: Path) -> list[dict[str, Any]] | None:
    """Return the ABI in a file, decoded from JSON, or None if it has none."""
    try:
        if path.stat().st_size > MAX_ABI_FILE_BYTES:
            return None
        found = _artifact(path.read_bytes())
    except OSError as error:
        raise InvalidConfig(ABI_FLAG, f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        return None
    return found.abi if isinstance(found, _Artifact) else found


def _files(folder: Path) -> Iterator[Path]:
    for count, path in enumerate(sorted(folder.rglob("*.json"))):
        if count == MAX_ABI_FILES:
            raise InvalidConfig(ABI_FLAG, f"{folder} has more than {MAX_ABI_FILES:,} JSON files")
        if path.is_file():
            yield path
