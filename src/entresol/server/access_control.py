"""Access control: which `Host` headers are accepted, and which origins may read responses (CORS)."""

from __future__ import annotations

import ipaddress

from entresol.server.config import ServerConfig

ANY = "*"
MAX_CACHED_HOSTS = 256


class HostCheck:
    """Accepts requests whose `Host` header names this server.

    A web page can make its own name resolve to 127.0.0.1 (DNS rebinding), and so reach a node that only
    listens there. Its name is still in the header. An address or `localhost` cannot be made to resolve elsewhere.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._names = config.allowed_hosts
        self._any = (
            ANY in self._names
            if self._names is not None
            else not all(map(is_loopback, config.hosts))
        )
        self.allowed: set[bytes | None] = set()
        """Headers that were accepted before, for the fast path."""

    def allows(self, header: bytes) -> bool:
        """Return whether a request with this header is accepted."""
        if not self._any and not self._is_ours(host_name(header)):
            return False
        if len(self.allowed) < MAX_CACHED_HOSTS:
            self.allowed.add(header)
        return True

    def _is_ours(self, name: str) -> bool:
        if self._names is not None:
            return name in {allowed.strip("[]").lower() for allowed in self._names}
        return name == "localhost" or name.endswith(".localhost") or is_address(name)


class OriginCheck:
    """Grants web pages access to responses, by headers of the response (CORS), and says which pages are foreign."""

    def __init__(self, config: ServerConfig) -> None:
        self.any = ANY in config.cors_origins
        self.origins = frozenset(
            cors_origin.encode() for cors_origin in config.cors_origins if cors_origin != ANY
        )

    def headers(self, origin: bytes | None) -> bytes:
        """Return the header lines of a response to a page from `origin`."""
        if self.any:
            return b"access-control-allow-origin: *\r\n"
        if origin not in self.origins:
            return b"vary: origin\r\n"
        return b"access-control-allow-origin: %b\r\nvary: origin\r\n" % origin

    def is_foreign(self, origin: bytes | None, host: bytes | None) -> bool:
        """Return whether a web page sent a request that is neither of this server nor of an origin that is named."""
        if origin is None or origin in self.origins:
            return False
        return host is None or origin.lower() not in {b"http://" + host, b"https://" + host}


def host_name(header: bytes) -> str:
    """Return the name or address in a `Host` header, without port and brackets."""
    text = header.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def is_address(name: str) -> bool:
    """Return whether `name` is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
