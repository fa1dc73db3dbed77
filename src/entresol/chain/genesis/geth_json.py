"""Parse genesis JSON as geth does: numbers in any notation, and errors with the path of the field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from entresol.errors import InvalidGenesis, MalformedValue
from entresol.primitives.values import Data, Hash32, Quantity, excerpt

_K = TypeVar("_K")
_V = TypeVar("_V")

_NUMBER: Final = re.compile("0[xX][0-9a-fA-F]{1,100}|[0-9]{0,100}")


def parse_document(document: bytes) -> dict[str, object]:
    """Read a JSON document that is an object without duplicate keys."""
    try:
        value = json.loads(document, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InvalidGenesis(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidGenesis("a genesis is a JSON object")
    return value


def required(item: Mapping[str, object], name: str, read: Callable[[object], _V]) -> _V:
    """Read the member `name` of `item`."""
    with within(name):
        if item.get(name) is None:
            raise MalformedValue("is missing")
        return read(item[name])


def optional(
    item: Mapping[str, object], name: str, read: Callable[[object], _V], default: _V
) -> _V:
    """Read the member `name` of `item`, which may be missing or null."""
    if item.get(name) is None:
        return default
    return required(item, name, read)


def read_object(value: object) -> dict[str, object]:
    """Read an object."""
    if not isinstance(value, dict):
        raise MalformedValue("should be an object")
    return value


def read_table(
    value: object, key: Callable[[object], _K], read: Callable[[object], _V]
) -> dict[_K, _V]:
    """Read an object as a map; two spellings of the same key are rejected."""
    table: dict[_K, _V] = {}
    for text, item in read_object(value).items():
        with within(excerpt(text)):
            name = key(text)
            if name in table:
                raise MalformedValue("appears twice, in different spellings")
            table[name] = read(item)
    return table


def read_number(value: object) -> int:
    """Read a JSON integer, or a string of decimal digits or of `0x` and hex digits; `""` is 0."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value, 16) if value[:2] in {"0x", "0X"} else int(value or "0")
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 400:
        return value
    raise MalformedValue(
        f"a quantity is an integer from 0, or a string of decimal or 0x-prefixed hex digits, "
        f"got {excerpt(repr(value))}"
    )


def read_word(value: object) -> Hash32:
    """Read up to 32 bytes in hex, with or without `0x`, and left-pad them with zeros."""
    return Hash32(Quantity.parse(value).to_bytes(32))


def read_data(value: object) -> bytes:
    """Read `0x` and hex digits, or an empty string."""
    return b"" if value == "" else Data.parse(value)


@contextmanager
def within(name: str, separator: str = ".") -> Iterator[None]:
    """Prefix the field of an error with `name`."""
    try:
        yield
    except (MalformedValue, InvalidGenesis) as error:
        field = name if error.field is None else f"{name}{separator}{error.field}"
        raise InvalidGenesis(error.problem, field=field) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            raise InvalidGenesis("appears twice", field=excerpt(name))
        members[name] = value
    return members
