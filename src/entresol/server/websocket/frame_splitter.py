"""Split the bytes of a WebSocket at the boundaries of its frames, so that each frame can be parsed on its own."""

from __future__ import annotations

from typing import Final

from websockets.frames import Opcode

try:
    from websockets.speedups import apply_mask
except ImportError:  # pragma: no cover  # where the library was built without its C extension
    from websockets.utils import apply_mask

HEADER_BYTES: Final = 2
MASK_BYTES: Final = 4
SMALL_BYTES: Final = 64
"""A fragment of less carries little for the work that it causes."""

_FIN, _CONTROL, _OPCODE = 0x80, 0x08, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_MESSAGES: Final = frozenset({_FIN | Opcode.TEXT, _FIN | Opcode.BINARY})
_LENGTH_OF_2_BYTES, _LENGTH_OF_8_BYTES = 126, 127


class FrameSplitter:
    """Holds bytes that were received, and returns them in pieces of at most one frame.

    The library for WebSockets parses all frames of what it is given before it returns. A piece bounds that, and costs
    little: long frames are returned as they arrived. The frames are not validated here.

    Remembers: bytes of one read, or an incomplete header. Persists: nothing. Assumes: nothing of the bytes.
    Fails: never.
    """

    __slots__ = ("_at", "_data", "_header", "_incomplete", "_missing", "is_small")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._header = 0
        self._missing = 0
        self._incomplete = False
        self.is_small = False
        """Whether the last piece began a control frame, an empty frame or a small fragment."""

    def __len__(self) -> int:
        """Return the number of bytes that are held."""
        return len(self._data) - self._at

    @property
    def has_frame(self) -> bool:
        """Whether there may be another piece."""
        return self._at < len(self._data) and not self._incomplete

    @property
    def begins_frame(self) -> bool:
        """Whether the last piece began a frame."""
        return self._header > 0

    def receive(self, data: bytes) -> None:
        """Append `data`."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0
        self._incomplete = False

    def clear(self) -> None:
        """Drop all bytes."""
        self._data = b""
        self._at = 0

    def next_piece(self) -> bytes:
        """Return the next piece; empty if nothing but an incomplete header is left."""
        self._header = 0
        self.is_small = False
        if not self._missing:
            self._missing = self._begin_frame()
            self._incomplete = not self._missing
        piece = self._data[self._at : self._at + self._missing]
        self._at += len(piece)
        self._missing -= len(piece)
        return piece

    def message(self, piece: bytes) -> bytes | None:
        """Return the message if `piece`, the last one, is a whole message in one frame without extensions."""
        start = self._header
        if self._missing or not start or piece[0] not in _MESSAGES or not piece[1] & _MASKED:
            return None
        return apply_mask(piece[start:], piece[start - MASK_BYTES : start])

    def _begin_frame(self) -> int:
        """Return the size of the next frame; 0 if its header is incomplete."""
        held = len(self._data) - self._at
        if held < HEADER_BYTES:
            return 0
        first, second = self._data[self._at], self._data[self._at + 1]
        header = HEADER_BYTES + (MASK_BYTES if second & _MASKED else 0)
        length = second & _LENGTH
        if length >= _LENGTH_OF_2_BYTES:
            size = 2 if length == _LENGTH_OF_2_BYTES else 8
            if held < HEADER_BYTES + size:
                return 0
            start = self._at + HEADER_BYTES
            length = int.from_bytes(self._data[start : start + size], "big")
            header += size
        whole = first & _FIN and first & _OPCODE
        self.is_small = not length or bool(first & _CONTROL) or (not whole and length < SMALL_BYTES)
        self._header = header
        return header + length
