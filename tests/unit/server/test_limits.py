"""Hosts, origins, rates, open files."""

from __future__ import annotations

import resource

import pytest

from entresol.server.config import ServerConfig
from entresol.server.limits import (
    REMEMBERED,
    HostCheck,
    OriginCheck,
    RequestRate,
    allow_open_files,
    host_name,
)


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
def test_elsewhere_any_name_is_ours_unless_names_are_given(host: str) -> None:
    assert HostCheck(ServerConfig(host=host)).allows(b"node.example")
    strict = HostCheck(ServerConfig(host=host, allowed_hosts=("node.example",)))
    assert strict.allows(b"node.example")
    assert not strict.allows(b"localhost")


def test_a_star_allows_any_host() -> None:
    assert HostCheck(ServerConfig(allowed_hosts=("*",))).allows(b"node.example")


def test_only_so_many_hosts_are_remembered() -> None:
    check = HostCheck(ServerConfig())
    assert all(check.allows(b"localhost:%d" % port) for port in range(2 * REMEMBERED))
    assert len(check.seen) == REMEMBERED


def test_a_rejected_host_is_not_remembered() -> None:
    check = HostCheck(ServerConfig())
    check.allows(b"evil.example")
    assert check.seen == set()


def test_an_origin_that_is_not_chosen_gets_no_permission() -> None:
    check = OriginCheck(ServerConfig(cors_origins=("http://page",)))
    assert b"allow-origin: http://page\r\n" in check.headers(b"http://page")
    assert check.headers(b"http://other") == check.headers(None) == b"vary: origin\r\n"


def test_a_rate_allows_a_second_at_once_and_then_earns() -> None:
    rate = RequestRate(4.0, now=0.0)
    assert [rate.allows(0.0) for _ in range(5)] == [True] * 4 + [False]
    assert rate.allows(0.25)
    assert not rate.allows(0.25)
    assert [rate.allows(100.0) for _ in range(5)] == [True] * 4 + [False]


def test_a_rate_below_one_still_allows_one() -> None:
    rate = RequestRate(0.5, now=0.0)
    assert [rate.allows(now) for now in (0.0, 1.0, 2.0)] == [True, False, True]


def test_the_limit_of_open_files_is_never_lowered() -> None:
    before, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert allow_open_files(0) == before
