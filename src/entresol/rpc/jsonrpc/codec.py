"""Values as they travel: models of JSON objects, and how domain values become JSON and back."""

from __future__ import annotations

import re
from binascii import unhexlify
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

import msgspec

from entresol.errors import MalformedValue

_T = TypeVar("_T")

_PLACE: Final = re.compile(r"(.*) - at (?:`key` in )?`\$([^`]*)`", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`")


def camel(name: str) -> str:
    """Spell a Python name as JSON-RPC does: `block_number` is `blockNumber`, `from_` is `from`."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


class JsonModel(msgspec.Struct, rename=camel, frozen=True, kw_only=True):
    """A JSON object that clients send or get.

    Keys are the fields' names in camel case, and unknown keys are ignored. Clients send null for what
    they leave out, so an optional field is declared `T | None = None` and has no other default.
    """


class ByteArray(bytes):
    """A byte string that travels as an array of numbers; hex digits are understood as well."""

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
    """Make a domain value of a decoded JSON value."""
    try:
        return kind.parse(value)
    except MalformedValue as error:
        # A ValueError is what msgspec adds the place to; the cause keeps what this one knows.
        raise ValueError(error.problem) from error


def convert(value: object, kind: type[_T]) -> _T:
    """Read a JSON value that is decoded already, as a class does whose `parse` takes several forms."""
    try:
        return msgspec.convert(value, kind, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        problem, path = locate(error)
        raise MalformedValue(problem, field=path.removeprefix(".") or None) from None


def locate(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return what is wrong with a value, and at which path within it: `.to` or `[0].to` or nothing."""
    found = _PLACE.fullmatch(str(error))
    problem, path = found.groups() if found else (str(error), "")
    if missing := _MISSING.fullmatch(problem):
        return "is missing", f"{path}.{missing[1]}"
    origin = error.__cause__ and error.__cause__.__cause__
    if isinstance(origin, MalformedValue) and origin.field is not None:
        path += origin.field if origin.field[0] == "[" else f".{origin.field}"
    return problem[:1].lower() + problem[1:], path


def encode_hook(value: Any) -> Any:
    """Return the JSON form of a domain value: its text, or what its `to_json` says."""
    kind = type(value)
    form = _forms.get(kind)
    if form is None:
        form = _forms[kind] = _form_of(kind)
    return form(value)


def _form_of(kind: type[Any]) -> Callable[[Any], Any]:
    if hasattr(kind, "to_json"):
        return lambda value: value.to_json()
    if hasattr(kind, "parse"):
        return str
    raise TypeError(f"{kind.__name__} has no JSON form")


_forms: Final[dict[type[Any], Callable[[Any], Any]]] = {}

encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
