"""Limits on requests per second and on open files."""

from __future__ import annotations

import resource

SPARE_FILES = 256


class RequestRate:
    """Token bucket of one connection's requests."""

    __slots__ = ("_per_second", "_tokens", "_updated_at")

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._tokens = max(per_second, 1.0)
        self._updated_at = now

    def allows(self, now: float) -> bool:
        """Return whether one more request is allowed, and count it if so."""
        earned = (now - self._updated_at) * self._per_second
        self._tokens = min(self._tokens + earned, max(self._per_second, 1.0))
        self._updated_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


def allow_open_files(connections: int) -> int:
    """Raise the limit of open files for so many connections, as far as the system allows, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft
