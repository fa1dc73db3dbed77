"""Memory of the criteria of filters and subscriptions, bounded for all clients together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import SubscriptionsFull

if TYPE_CHECKING:
    from entresol.storage.log_index import LogQuery

MAX_BYTES: Final = 64 * 1024 * 1024

# What a filter or a subscription takes besides its criteria, and an address or topic in a set, at most.
_BASE_BYTES: Final = 1_024
_VALUE_BYTES: Final = 160


def criteria_bytes(query: LogQuery | None = None) -> int:
    """Return how much memory a filter or a subscription takes, roughly."""
    values = 0 if query is None else len(query.addresses) + sum(map(len, query.topics))
    return _BASE_BYTES + _VALUE_BYTES * values


class CriteriaMemory:
    """The memory of all filters and subscriptions together.

    Fails: with `SubscriptionsFull`. Evicting others' filters instead would let one client end those of all.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.used = 0

    def reserve(self, size: int) -> None:
        """Take memory for a new filter or subscription, or reject it."""
        if self.used + size > self.max_bytes:
            raise SubscriptionsFull(
                f"filters and subscriptions take all of their {self.max_bytes} bytes of memory: uninstall some, "
                "or set --filter-limit-bytes higher"
            )
        self.used += size

    def release(self, size: int) -> None:
        """Return the memory of one that ended."""
        self.used -= size
