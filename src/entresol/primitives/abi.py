"""The ABI of contract calls: values to bytes and back, by type strings as signatures have them.

The common library for this takes half a second to load, which is half of what a node may take to start; a test
holds every encoding against it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Protocol

from entresol._native import keccak256
from entresol.errors import MalformedValue

_WORD: Final = 32
_ARRAY: Final = re.compile(r"(.+)\[(\d*)\]")


def selector(signature: str) -> bytes:
    """Return the four bytes that name a function or an error."""
    return keccak256(signature.encode())[:4]


def encode(types: str, values: Sequence[Any]) -> bytes:
    """Encode values by a tuple of types, such as `(address,uint256[])`."""
    return _codec(types).encode(values)


def decode(types: str, data: bytes) -> tuple[Any, ...]:
    """Read values by a tuple of types; raises `MalformedValue` for bytes that are too few."""
    values: tuple[Any, ...] = _codec(types).decode(data, 0)
    return values


def encode_call(signature: str, *arguments: object) -> bytes:
    """Return the call data for a function by its signature, such as `withdraw(address)`."""
    return selector(signature) + encode(signature[signature.index("(") :], arguments)


class _Codec(Protocol):
    """A type: how long its head is, whether its content follows behind the heads, and its bytes."""

    size: int
    is_dynamic: bool

    def encode(self, value: Any) -> bytes: ...
    def decode(self, data: bytes, at: int) -> Any: ...


class _Word:
    """A type that fits a word, by how it becomes a number or 32 bytes."""

    size = _WORD
    is_dynamic = False

    def __init__(self, write: Callable[[Any], bytes], read: Callable[[bytes], Any]) -> None:
        self.encode = write
        self._read = read

    def decode(self, data: bytes, at: int) -> Any:
        return self._read(_take(data, at, _WORD))


class _Bytes:
    """Bytes or text of any length."""

    size = _WORD
    is_dynamic = True

    def encode(self, value: bytes) -> bytes:
        return len(value).to_bytes(_WORD) + value + bytes(-len(value) % _WORD)

    def decode(self, data: bytes, at: int) -> bytes:
        return _take(data, at + _WORD, _length(data, at))


class _Text(_Bytes):
    def encode(self, value: str) -> bytes:  # type: ignore[override]
        return super().encode(value.encode())

    def decode(self, data: bytes, at: int) -> str:  # type: ignore[override]
        return super().decode(data, at).decode(errors="replace")


class _Tuple:
    """Several values in a row; the content of dynamic ones follows, their heads say where."""

    def __init__(self, items: Sequence[_Codec]) -> None:
        self._items = items
        self.is_dynamic = any(item.is_dynamic for item in items)
        self._head = sum(item.size for item in items)
        self.size = _WORD if self.is_dynamic else self._head

    def encode(self, values: Sequence[Any]) -> bytes:
        if len(values) != len(self._items):
            raise MalformedValue(f"{len(self._items)} values expected, got {len(values)}")
        heads, tails, tail_at = [], [], self._head
        for item, value in zip(self._items, values, strict=True):
            encoded = item.encode(value)
            if item.is_dynamic:
                heads.append(tail_at.to_bytes(_WORD))
                tails.append(encoded)
                tail_at += len(encoded)
            else:
                heads.append(encoded)
        return b"".join(heads + tails)

    def decode(self, data: bytes, at: int) -> tuple[Any, ...]:
        values, head = [], at
        for item in self._items:
            start = at + _length(data, head) if item.is_dynamic else head
            values.append(item.decode(data, start))
            head += item.size
        return tuple(values)


class _Array:
    """Any number of values of one type."""

    size = _WORD
    is_dynamic = True

    def __init__(self, item: _Codec) -> None:
        self._item = item

    def encode(self, values: Sequence[Any]) -> bytes:
        return len(values).to_bytes(_WORD) + _Tuple([self._item] * len(values)).encode(values)

    def decode(self, data: bytes, at: int) -> tuple[Any, ...]:
        count = _length(data, at)
        # Before anything is made that is as long as the bytes claim.
        _take(data, at + _WORD, count * self._item.size)
        return _Tuple([self._item] * count).decode(data, at + _WORD)


@cache
def _codec(text: str) -> _Codec:
    if (array := _ARRAY.fullmatch(text)) is not None:
        item = _codec(array[1])
        return _Tuple([item] * int(array[2])) if array[2] else _Array(item)
    if text.startswith("("):
        return _Tuple([_codec(item) for item in _split(text[1:-1])])
    if text in ("bytes", "string"):
        return _Bytes() if text == "bytes" else _Text()
    if text.startswith("bytes"):
        size = int(text[5:])
        return _Word(lambda value: _sized(value, size).ljust(_WORD, b"\0"), lambda it: it[:size])
    if text.startswith("uint"):
        bits = int(text[4:])
        return _Word(lambda value: _uint(value, bits), int.from_bytes)
    if text == "address":
        return _Word(lambda value: _sized(value, 20).rjust(_WORD, b"\0"), lambda word: word[12:])
    if text == "bool":
        return _Word(lambda value: int(value).to_bytes(_WORD), any)
    raise MalformedValue(f"no ABI type is called {text}")


def _split(items: str) -> list[str]:
    """Split a list of types at the commas that are not inside of a tuple."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(items):
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append(items[start:at])
            start = at + 1
    return [*parts, items[start:]] if items else []


def _uint(value: int, bits: int) -> bytes:
    if not 0 <= value < 1 << bits:
        raise MalformedValue(f"a uint{bits} is from 0 to 2^{bits} - 1, got {value:#x}")
    return value.to_bytes(_WORD)


def _sized(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise MalformedValue(f"{size} bytes expected, got {len(value)}")
    return bytes(value)


def _length(data: bytes, at: int) -> int:
    return int.from_bytes(_take(data, at, _WORD))


def _take(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise MalformedValue(f"{at + size} bytes of ABI expected, got {len(data)}")
    return bytes(data[at : at + size])
