"""JSON encoding and decoding of domain values and models."""

from __future__ import annotations

import re
from binascii import unhexlify
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

import msgspec

from entresol.errors import MalformedValue

_T = TypeVar("_T")

_PATH: Final = re.compile(r"(.*) - at (?:`key` in )?`\$([^`]*)`", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`")


def camel(name: str) -> str:
    """Spell a Python name as JSON-RPC does: `block_number` is `blockNumber`, `from_` is `from`."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


class JsonModel(msgspec.Struct, rename=camel, frozen=True, kw_only=True):
    """A JSON object of a request or a response.

    Keys are the fields' names in camel case, and unknown keys are ignored. Clients send null for an omitted
    field, so an optional field is declared `T | None = None` and has no other default.
    """


class ByteArray(bytes):
    """A byte string that is an array of numbers in JSON; hex digits are accepted as well."""

    __slots__ = ()

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an array of numbers from 0 to 255, or hex digits with or without `0x`."""
        try:
            if isinstance(value, list):
                return cls(value)
            if isinstance(value, str):
                return cls(unhexlify(value.removeprefix("0x")))
        except (ValueError, TypeError):
            pass
        raise MalformedValue("bytes are an array of numbers from 0 to 255, or hex digits")

    def to_json(self) -> list[int]:
        """Return the numbers."""
        return list(self)


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
    return problem[:1].lower() + problem[1:], path


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


_encoders: Final[dict[type[Any], Callable[[Any], Any]]] = {}

encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
