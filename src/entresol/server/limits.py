"""Who may ask, and how often: hosts, origins, requests a second, open files."""

from __future__ import annotations

import ipaddress
import resource

from entresol.server.config import ServerConfig

ANY = "*"
REMEMBERED = 256
SPARE_FILES = 256


class HostCheck:
    """Tells whether a `Host` header names this server.

    A web page can make its own name resolve to 127.0.0.1 (DNS rebinding), and so talk to a node that only
    listens there. Its name is still in the header. An address or `localhost` cannot be made to resolve elsewhere.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._names = config.allowed_hosts
        self._any = ANY in self._names if self._names is not None else not is_loopback(config.host)
        self.seen: set[bytes | None] = set()
        """Headers that were allowed before, for the fast path."""

    def allows(self, header: bytes) -> bool:
        """Tell whether a request with this header is for us."""
        if not self._any and not self._is_ours(host_name(header)):
            return False
        if len(self.seen) < REMEMBERED:
            self.seen.add(header)
        return True

    def _is_ours(self, name: str) -> bool:
        if self._names is not None:
            return name in {allowed.strip("[]").lower() for allowed in self._names}
        return name == "localhost" or name.endswith(".localhost") or is_address(name)


class OriginCheck:
    """Tells which web pages may read answers, as headers of the answer (CORS)."""

    def __init__(self, config: ServerConfig) -> None:
        self.any = ANY in config.cors_origins
        self.origins = frozenset(origin.encode() for origin in config.cors_origins)

    def headers(self, origin: bytes | None) -> bytes:
        """Return the lines of an answer to a page from `origin`."""
        if self.any:
            return b"access-control-allow-origin: *\r\n"
        if origin not in self.origins:
            return b"vary: origin\r\n"
        return b"access-control-allow-origin: %b\r\nvary: origin\r\n" % origin


class RequestRate:
    """Counts what one connection may still ask this second."""

    __slots__ = ("_allowance", "_per_second", "_then")

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._allowance = max(per_second, 1.0)
        self._then = now

    def allows(self, now: float) -> bool:
        """Tell whether one more request fits, and count it."""
        earned = (now - self._then) * self._per_second
        self._allowance = min(self._allowance + earned, max(self._per_second, 1.0))
        self._then = now
        if self._allowance < 1.0:
            return False
        self._allowance -= 1.0
        return True


def allow_open_files(connections: int) -> int:
    """Raise the limit of open files for so many connections as far as possible, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def host_name(header: bytes) -> str:
    """Return the name or address in a `Host` header, without port and brackets."""
    text = header.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach `host`."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def is_address(name: str) -> bool:
    """Tell whether `name` is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
