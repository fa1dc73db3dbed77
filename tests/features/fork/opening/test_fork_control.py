"""URLs that clients name: http(s) alone, and never the node itself."""

from __future__ import annotations

import asyncio

import pytest

from entresol.errors import ControlRejected
from entresol.features.fork.opening.fork_control import check_client_url, host_of

OWN = frozenset({8545})


@pytest.mark.parametrize(
    "url",
    ["ws://host", "file:///etc/passwd", "ftp://host", "http://", "host:8545", "http://h:0", ""],
)
def test_other_schemes_are_rejected(url: str) -> None:
    with pytest.raises(ControlRejected, match="http:// or https://"):
        asyncio.run(check_client_url(url, OWN))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8545",
        "http://127.9.9.9:8545/v2/s3cr3tk3y",
        "http://localhost:8545",
        "http://user:s3cr3tk3y@0.0.0.0:8545",
        "http://2130706433:8545",
        "http://0x7f000001:8545",
    ],
)
def test_the_node_itself_is_rejected_however_it_is_written(url: str) -> None:
    with pytest.raises(ControlRejected, match="the node itself") as rejection:
        asyncio.run(check_client_url(url, OWN))
    assert "s3cr3t" not in str(rejection.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8546", "https://192.0.2.1:8545", "http://192.0.2.1"]
)
def test_others_are_accepted(url: str) -> None:
    asyncio.run(check_client_url(url, OWN))


def test_hosts_are_compared_with_their_ports() -> None:
    assert host_of("HTTPS://Host/path") == ("host", 443)
    assert host_of("http://host") == ("host", 80)
    assert host_of("http://host:80/v2") == host_of("http://user@host")
