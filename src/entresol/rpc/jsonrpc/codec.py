"""JSON of domain values and models, and the parameters of a method."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from entresol.errors import MalformedValue

_T = TypeVar("_T")

_MAX_PROBLEM: Final = 500
_PATH: Final = re.compile(r"(.*) - at (?:`key` in )?`\$([^`]*)`", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`")


_encoders: Final[dict[type[Any], Callable[[Any], Any]]] = {}


def decode_hook(kind: type[Any], value: object) -> Any:
    """Parse a domain value from a decoded JSON value."""
    try:
        return kind.parse(value)
    except MalformedValue as error:
        # msgspec adds the path to a ValueError; the cause keeps the field of this one.
        raise ValueError(error.problem) from error


def convert(value: object, kind: type[_T]) -> _T:
    """Convert a decoded JSON value; for classes whose `parse` takes several forms."""
    try:
        return msgspec.convert(value, kind, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        problem, path = locate(error)
        raise MalformedValue(problem, field=path.removeprefix(".") or None) from None


def locate(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the problem with a value, and its path: `.to`, `[0].to` or empty."""
    found = _PATH.fullmatch(str(error))
    problem, path = found.groups() if found else (str(error), "")
    if missing := _MISSING.fullmatch(problem):
        return "is missing", f"{path}.{missing[1]}"
    origin = error.__cause__ and error.__cause__.__cause__
    if isinstance(origin, MalformedValue) and origin.field is not None:
        path += origin.field if origin.field[0] == "[" else f".{origin.field}"
    return problem[:1].lower() + _shortened(problem[1:]), path


def _shortened(problem: str) -> str:
    return problem if len(problem) <= _MAX_PROBLEM else f"{problem[:_MAX_PROBLEM]}…"


def encode_hook(value: Any) -> Any:
    """Return the JSON form of a domain value: its text, or the result of its `to_json`."""
    kind = type(value)
    to_json = _encoders.get(kind)
    if to_json is None:
        to_json = _encoders[kind] = _encoder_of(kind)
    return to_json(value)


def _encoder_of(kind: type[Any]) -> Callable[[Any], Any]:
    if hasattr(kind, "to_json"):
        return lambda value: value.to_json()
    if hasattr(kind, "parse"):
        return str
    raise TypeError(f"{kind.__name__} has no JSON form")


encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
