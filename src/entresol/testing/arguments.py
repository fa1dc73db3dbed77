"""Compare the arguments of events and errors with what a test expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def differences(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    """Return what differs, argument by argument; a function as the expected value is a condition."""
    return [
        f"{name} is {_shown(actual[name])}, expected {_shown(value)}"
        for name, value in expected.items()
        if not is_same(value, actual[name])
    ]


def is_same(expected: Any, actual: Any) -> bool:
    """Compare two values; addresses in any case, bytes also as hex text, sequences item by item."""
    if callable(expected):
        return bool(expected(actual))
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(is_same(one, other) for one, other in pairs)
    return bool(_comparable(expected) == _comparable(actual))


def check_names(expected: Mapping[str, Any], known: list[str], of: str) -> None:
    """Raise a `TypeError` if an expected argument does not exist."""
    for name in expected:
        if name not in known:
            raise TypeError(f"{of} has no argument {name!r}; it has: {', '.join(known) or 'none'}")


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call with named arguments."""
    return f"{name}({', '.join(f'{key}={_shown(value)}' for key, value in arguments.items())})"


def _comparable(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return "0x" + bytes(value).hex()
    if isinstance(value, str) and value[:2].lower() == "0x":
        return value.lower()
    return value


def _shown(value: Any) -> str:
    if callable(value):
        return getattr(value, "__name__", "a condition")
    return "0x" + bytes(value).hex() if isinstance(value, bytes) else repr(value)
