"""Points in time, as the network's nodes write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The last moment that can be written; a chain whose clock was moved may be past it."""


def iso_timestamp(seconds: float) -> str:
    """Return a time as RFC 3339 has it, always with six digits of a second.

    Other nodes leave them out for a whole second, which zksync2 cannot read.
    """
    late = seconds >= LATEST.timestamp()
    time = LATEST if late else datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
