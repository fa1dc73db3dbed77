"""URLs that clients name: a node asks no other than http(s), and never itself."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from entresol.errors import ControlRejected
from entresol.l1.urls import Endpoint, is_http_url

if TYPE_CHECKING:
    from collections.abc import Collection

_PORTS = {"http": 80, "https": 443}


async def check_client_url(url: str, own_ports: Collection[int]) -> None:
    """Reject a URL that is not http(s), or that a port of the node itself is behind."""
    if not is_http_url(url):
        raise ControlRejected("the URL should begin with http:// or https://, and name a host")
    parts = urlsplit(url)
    port = parts.port or _PORTS[parts.scheme]
    if port in own_ports and await _is_local(parts.hostname or ""):
        shown = Endpoint(url).redacted
        raise ControlRejected(f"{shown} is the node itself: a fork needs another one")


def host_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL, by which headers are sent to it or not."""
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0)


async def _is_local(host: str) -> bool:
    """Return whether a host is this machine; one that cannot be resolved is none, and fails later."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_can_bind(family, address) for family, _, _, _, address in found)


def _can_bind(family: int, address: tuple[object, ...]) -> bool:
    """Return whether an address is one of this machine: only such can be listened on."""
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address[0], 0))
        except OSError:
            return False
    return True
