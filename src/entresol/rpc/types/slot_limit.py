"""The limit of storage slots in one request."""

from __future__ import annotations

from entresol.errors import TooManySlots


def check_slots(count: int, limit: int) -> None:
    """Reject a request for more storage slots than allowed."""
    if count > limit:
        raise TooManySlots(count, limit)
