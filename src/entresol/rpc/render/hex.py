"""Quantities, data, arrays and times as JSON text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The latest time that can be written; a chain whose clock was moved may be past it."""
_LATEST_SECONDS: Final = LATEST.timestamp()


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


def iso_timestamp(seconds: float) -> str:
    """Return a time in RFC 3339, always with microseconds.

    Other nodes omit them at a whole second, which zksync2 cannot read.
    """
    late = seconds >= _LATEST_SECONDS
    time = LATEST if late else datetime.fromtimestamp(seconds, UTC)
    # What follows the microseconds is the offset, +00:00.
    return time.isoformat(timespec="microseconds")[:-6] + "Z"
