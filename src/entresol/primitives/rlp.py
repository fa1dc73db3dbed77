"""RLP helpers: decode items into checked fields, and encode values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from entresol._native import rlp_decode
from entresol.errors import MalformedValue
from entresol.primitives.values import FixedBytes

if TYPE_CHECKING:
    from entresol._native import RlpItem

T = TypeVar("T", bound=FixedBytes)


def decode_fields(data: bytes, count: int, what: str) -> list[RlpItem]:
    """Decode `data` as a list of exactly `count` items."""
    item = rlp_decode(data)
    if not isinstance(item, list):
        raise MalformedValue(f"{what} is an rlp list")
    if len(item) != count:
        raise MalformedValue(f"{what} has {count} items, got {len(item)}")
    return item


def read_list(item: RlpItem, field: str) -> list[RlpItem]:
    """Read a list."""
    if not isinstance(item, list):
        raise MalformedValue("a list is expected, got a byte string", field=field)
    return item


def read_fields(item: RlpItem, count: int, field: str) -> list[RlpItem]:
    """Read a list of exactly `count` items."""
    items = read_list(item, field)
    if len(items) != count:
        raise MalformedValue(f"{count} items expected, got {len(items)}", field=field)
    return items


def read_bytes(item: RlpItem, field: str) -> bytes:
    """Read a byte string."""
    if not isinstance(item, bytes):
        raise MalformedValue("a byte string is expected, got a list", field=field)
    return item


def read_uint(item: RlpItem, bits: int, field: str) -> int:
    """Read a number of at most `bits` bits."""
    digits = read_bytes(item, field)
    if digits[:1] == b"\0":
        raise MalformedValue("integer has a leading zero byte", field=field)
    if len(digits) > bits // 8:
        problem = f"integer is at most {bits // 8} bytes, got {len(digits)}"
        raise MalformedValue(problem, field=field)
    return int.from_bytes(digits)


def read_fixed(item: RlpItem, kind: type[T], field: str) -> T:
    """Read a value of fixed length."""
    try:
        return kind(read_bytes(item, field))
    except MalformedValue as error:
        raise MalformedValue(error.problem, field=field) from None


def encode_uint(value: int) -> bytes:
    """Return the bytes of `value` without leading zeros; zero is not bytes."""
    return value.to_bytes((value.bit_length() + 7) // 8)


def join(items: Iterable[bytes]) -> bytes:
    """Return the encoding of a list of encoded items."""
    body = b"".join(items)
    return _list_prefix(len(body)) + body


def _list_prefix(size: int) -> bytes:
    if size < 56:
        return bytes([0xC0 + size])
    digits = encode_uint(size)
    return bytes([0xF7 + len(digits)]) + digits
