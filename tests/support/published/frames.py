"""Published data as another writer makes it: the same content in a frame without compression."""

from __future__ import annotations

from typing import Final

_VERSION_AND_MAGIC: Final = bytes.fromhex("0128b52ffd")
_SINGLE_SEGMENT: Final = b"\xa0"
"""With four bytes for the size of the content."""
_MAX_BLOCK: Final = 128 * 1024


def uncompressed(content: bytes) -> bytes:
    """Return what a writer publishes that compresses nothing."""
    parts = [content[at : at + _MAX_BLOCK] for at in range(0, len(content), _MAX_BLOCK)]
    blocks = (
        ((len(part) << 3) | (at == len(parts) - 1)).to_bytes(3, "little") + part
        for at, part in enumerate(parts)
    )
    size = len(content).to_bytes(4, "little")
    return b"".join((_VERSION_AND_MAGIC, _SINGLE_SEGMENT, size, *blocks))


def bomb(size: int) -> bytes:
    """Return a frame of some bytes that says that it has content of this size."""
    return _VERSION_AND_MAGIC + _SINGLE_SEGMENT + size.to_bytes(4, "little") + b"\x01\x00\x00"
