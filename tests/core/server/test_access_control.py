from __future__ import annotations

import pytest

from entresol.server.access_control import HostCheck, OriginCheck, host_name
from entresol.server.config import ServerConfig


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b"localhost", "localhost"),
        (b"LocalHost.:80", "localhost"),
        (b"127.0.0.1:3050", "127.0.0.1"),
        (b"[::1]:3050", "::1"),
        (b"[::1]", "::1"),
        (b"", ""),
        (b"a, b", "a, b"),
    ],
)
def test_the_name_in_a_host_header_is_found(header: bytes, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_on_loopback_only_names_that_cannot_be_rebound_are_ours(host: str) -> None:
    check = HostCheck(ServerConfig(host=host))
    assert check.allows(b"localhost:3050")
    assert check.allows(b"192.0.2.1")
    assert not check.allows(b"node.example")
    assert not check.allows(b"")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "node.example"])  # noqa: S104
def test_elsewhere_any_name_is_ours_unless_hosts_are_configured(host: str) -> None:
    assert HostCheck(ServerConfig(host=host)).allows(b"node.example")
    strict = HostCheck(ServerConfig(host=host, allowed_hosts=("node.example",)))
    assert strict.allows(b"node.example")
    assert not strict.allows(b"localhost")


def test_an_origin_that_is_not_allowed_gets_no_permission() -> None:
    check = OriginCheck(ServerConfig(cors_origins=("http://page",)))
    assert b"allow-origin: http://page\r\n" in check.headers(b"http://page")
    assert check.headers(b"http://other") == check.headers(None) == b"vary: origin\r\n"


@pytest.mark.parametrize(
    ("origin", "is_foreign"),
    [
        (None, False),
        (b"http://localhost:3050", False),
        (b"https://localhost:3050", False),
        (b"http://LOCALHOST:3050", False),
        (b"http://named", False),
        (b"null", True),
        (b"http://localhost:3051", True),
        (b"http://page", True),
        (b"*", True),
    ],
)
def test_a_page_is_foreign_unless_it_is_ours_or_named(
    origin: bytes | None, is_foreign: bool
) -> None:
    check = OriginCheck(ServerConfig(cors_origins=("*", "http://named")))
    assert check.is_foreign(origin, b"localhost:3050") is is_foreign
    assert check.is_foreign(origin, None) is (origin not in {None, b"http://named"})
