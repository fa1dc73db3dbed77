"""Points in time, as the network's nodes write them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """Return a time as RFC 3339 has it, with a fraction only if there is one."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
