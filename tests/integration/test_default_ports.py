"""What holds the default ports while CI runs the tests."""

from __future__ import annotations

import socket

import pytest

from tests.support.run.default_ports import held_ports


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def test_a_held_port_cannot_be_bound_until_it_is_released() -> None:
    port = free_port()
    with held_ports([port]) as held:
        assert held == [port]
        for host in ("127.0.0.1", ""):
            with pytest.raises(OSError, match="Address already in use"):
                socket.create_server((host, port))
    socket.create_server(("127.0.0.1", port)).close()


def test_a_port_that_somebody_else_has_is_left_alone() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        held_ports([taken.getsockname()[1]]) as held,
    ):
        assert held == []
