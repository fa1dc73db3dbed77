"""Numbers as 32-byte words, and bytes as JSON-RPC's hexadecimal data."""

from __future__ import annotations

from entresol.primitives.values import Hash32


def word(number: int) -> Hash32:
    return Hash32(number.to_bytes(32))


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))
