"""Contracts' output by `console.log`: decoding the calls of Hardhat's and Foundry's libraries, and formatting them."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol import _native
from entresol.errors import MalformedValue
from entresol.primitives import abi
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.console import ConsoleCalls

CONSOLE: Final = "0x" + _native.CONSOLE.hex()
"""The address that contracts call: `console.log` in ASCII."""

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
    """Return the text of one call, or None if it is not a call of the libraries."""
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
    typed = [_as_text(Address(value) if kinds[-1] == "address[]" else value) for value in values]
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
