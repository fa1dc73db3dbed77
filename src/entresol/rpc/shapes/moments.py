"""Points in time, as the network's nodes write them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """Return a time as RFC 3339 has it, always with six digits of a second.

    Other nodes leave them out for a whole second, which zksync2 cannot read.
    """
    time = datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
