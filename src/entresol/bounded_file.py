"""Read files that a flag names, and of one that is too large no more than its limit."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

MAX_DIRECTORY_FILE_BYTES: Final = 64 << 20
"""Bytes of a file that the node has written beside its chains: some kilobytes, unless it was replaced."""

_PIECE: Final = 1 << 20


def read_file(path: Path, limit: int) -> bytes:
    """Return the bytes of a file or a pipe; more than `limit` are an `OSError` that says so."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise _too_large(path, limit)
        pieces = []
        left = limit
        # One that grows meanwhile, or a device without an end, is not read further.
        while piece := file.read(min(_PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                raise _too_large(path, limit)
            pieces.append(piece)
    return b"".join(pieces)


def _too_large(path: Path, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {limit:,} bytes", str(path))
