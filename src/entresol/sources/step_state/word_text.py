"""Words of the stack and of storage as text, by the types of their variables."""

from __future__ import annotations

import re
from typing import Final

from entresol.primitives.values import Address

_NUMBER: Final = re.compile(r"(u?)int(\d{0,3})")
_BYTES: Final = re.compile(r"bytes([1-9]|[12]\d|3[0-2])")
_BYTE_BITS: Final = 8
WORD_BITS: Final = 256


def word_text(kind: str, word: int) -> str | None:
    """Return a value that is in the lowest bits of a word, as a person writes it; None if the type is another one."""
    if (number := _NUMBER.fullmatch(kind)) is not None:
        bits = min(int(number[2] or WORD_BITS), WORD_BITS)
        value = word & ((1 << bits) - 1)
        is_negative = not number[1] and bool(bits) and value >> (bits - 1)
        return str(value - (1 << bits) if is_negative else value)
    if kind == "bool":
        return "true" if word & 0xFF else "false"
    if kind in ("address", "address payable") or kind.startswith("contract "):
        return Address((word & ((1 << 160) - 1)).to_bytes(20)).checksummed()
    if kind.startswith("enum "):
        return str(word & 0xFF)
    if (found := _BYTES.fullmatch(kind)) is not None:
        size = int(found[1])
        return f"0x{(word & ((1 << _BYTE_BITS * size) - 1)).to_bytes(size).hex()}"
    return None


def bytes_text(data: bytes, *, is_text: bool) -> str:
    """Return bytes in hex digits, or a string in quotes."""
    return f'"{data.decode(errors="replace")}"' if is_text else f"0x{data.hex()}"
