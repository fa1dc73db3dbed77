"""Quantities, data and arrays as JSON text."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


def quantity(value: int | None) -> str:
    """Return a quantity, or null."""
    return "null" if value is None else f'"{hex(value)}"'


def data(value: bytes | None) -> str:
    """Return bytes, a hash or an address, or null."""
    return "null" if value is None else f'"0x{value.hex()}"'


def array(items: Iterable[str]) -> str:
    """Return an array of values that are JSON already."""
    return f"[{','.join(items)}]"


def raw(text: str) -> msgspec.Raw:
    """Return JSON text as bytes that the encoder copies as they are."""
    return msgspec.Raw(text.encode())


def raw_array(items: Iterable[bytes]) -> msgspec.Raw:
    """Return an array of values that are encoded already."""
    return msgspec.Raw(b"[%b]" % b",".join(items))
