"""Split a stream of bytes into JSON documents, which follow each other with or without white space."""

from __future__ import annotations

import re
from typing import Final

MAX_TOKENS: Final = 2_048
"""Brackets, quotes and escapes that are read at once: they take some 0.5 ms."""

_SPACE: Final = b" \t\r\n"
_OPENING: Final = b"{["
_QUOTE, _ESCAPE = ord('"'), ord("\\")
_find_in_document: Final = re.compile(rb'["{}\[\]]').search
_find_in_string: Final = re.compile(rb'["\\]').search


class MalformedStreamError(ValueError):
    """What is received is neither an object nor an array, so that its end is not known."""


class DocumentSplitter:
    """Finds where documents end by counting brackets; what is within them is for the parser of the handler.

    Remembers: what was received, and how far it was read. Persists: nothing.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._buffer = bytearray()
        self._position = 0
        self._depth = 0
        self._in_string = False
        self._is_exhausted = True

    def __len__(self) -> int:
        """Return the number of bytes that are in no document yet."""
        return len(self._buffer)

    @property
    def has_unread(self) -> bool:
        """Whether `next_document` may find one without further bytes."""
        return not self._is_exhausted

    def receive(self, data: bytes) -> None:
        """Add bytes."""
        self._buffer += data
        self._is_exhausted = False

    def next_document(self) -> bytes | None:
        """Read some bytes, and return the document that ends there; None if there is none so far."""
        if not self._depth and not self._find_start():
            return None
        for _ in range(MAX_TOKENS):
            find = _find_in_string if self._in_string else _find_in_document
            found = find(self._buffer, self._position)
            if found is None:
                self._position = max(self._position, len(self._buffer))
                self._is_exhausted = True
                return None
            self._read(found.start())
            if not self._depth:
                return self._take()
        return None

    def _find_start(self) -> bool:
        del self._buffer[: len(self._buffer) - len(self._buffer.lstrip(_SPACE))]
        if not self._buffer:
            self._is_exhausted = True
            return False
        if self._buffer[0] not in _OPENING:
            raise MalformedStreamError
        self._position = 0
        return True

    def _read(self, at: int) -> None:
        token = self._buffer[at]
        self._position = at + 1
        if token == _ESCAPE:
            self._position += 1
        elif token == _QUOTE:
            self._in_string = not self._in_string
        else:
            self._depth += 1 if token in _OPENING else -1

    def _take(self) -> bytes:
        with memoryview(self._buffer) as received:
            document = bytes(received[: self._position])
        del self._buffer[: self._position]
        self._position = 0
        self._is_exhausted = not self._buffer
        return document
