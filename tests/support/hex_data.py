"""Numbers as 32-byte words, and bytes as JSON-RPC's hexadecimal data."""

from __future__ import annotations

from entresol.primitives.values import Hash32


def word(number: int) -> Hash32:
    """Return a number as 32 bytes."""
    return Hash32(number.to_bytes(32))


def hexed(data: bytes) -> str:
    """Return bytes as JSON-RPC writes them."""
    return "0x" + data.hex()


def unhex(text: str) -> bytes:
    """Return the bytes that JSON-RPC writes so."""
    return bytes.fromhex(text.removeprefix("0x"))
