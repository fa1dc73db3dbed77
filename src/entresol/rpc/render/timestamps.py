"""Timestamps in RFC 3339, as zksync-era writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The latest time that can be written; a chain whose clock was moved may be past it."""


def iso_timestamp(seconds: float) -> str:
    """Return a time in RFC 3339, always with microseconds.

    Other nodes omit them at a whole second, which zksync2 cannot read.
    """
    late = seconds >= LATEST.timestamp()
    time = LATEST if late else datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
