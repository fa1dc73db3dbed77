"""Write published bytes: what the reader reads, in the only form that it accepts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from entresol.errors import NotPublishable
from entresol.primitives.published.reader import MAX_VARINT, MAX_WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence


def varint(value: int, field: str, *, lowest: int = 0, highest: int = MAX_VARINT) -> bytes:
    """Return a number: seven bits a byte, the lowest first, in as few bytes as possible."""
    if not lowest <= value <= highest:
        raise NotPublishable(field, f"{lowest} to {highest} expected, got {value}")
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint_size(value: int) -> int:
    """Return how many bytes a number takes."""
    return max(1, -(-value.bit_length() // 7))


def word(value: bytes, field: str, *, highest_size: int = MAX_WORD_BYTES) -> bytes:
    """Return a number, given as bytes without leading zeros: its length, then the bytes."""
    if len(value) > highest_size or value[:1] == b"\0":
        problem = f"at most {highest_size} bytes without leading zeros expected, got {len(value)}"
        raise NotPublishable(field, problem)
    return bytes((len(value),)) + value


def number(value: int, field: str, *, highest_size: int = MAX_WORD_BYTES) -> bytes:
    """Return a number as a word."""
    if value < 0:
        raise NotPublishable(field, f"a number that is not negative is expected, got {value}")
    return word(value.to_bytes(-(-value.bit_length() // 8)), field, highest_size=highest_size)


def string(value: bytes, field: str, *, lowest: int = 0, highest: int = MAX_VARINT) -> bytes:
    """Return a byte string: its length, then the bytes."""
    return varint(len(value), field, lowest=lowest, highest=highest) + value


def fixed(value: bytes, size: int, field: str) -> bytes:
    """Return a value of fixed length."""
    if len(value) != size:
        raise NotPublishable(field, f"{size} bytes expected, got {len(value)}")
    return bytes(value)


def check_ascending(items: Sequence[bytes], field: str) -> None:
    """Reject items that do not ascend, or of which one is there twice."""
    if not all(before < after for before, after in pairwise(items)):
        raise NotPublishable(field, "they ascend, and none is there twice")
