"""The file of a Unix socket."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from entresol.errors import SocketUnavailable
from entresol.server.ipc.unix_path import UnixPath


def test_only_the_owner_may_connect(tmp_path: Path) -> None:
    path = tmp_path / "ipc"
    with UnixPath(str(path)).listen():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_a_killed_process_left_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "ipc")
    UnixPath(path).listen().close()
    with UnixPath(path).listen(), socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def test_a_socket_in_use_is_left_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "ipc")
    first = UnixPath(path)
    with first.listen():
        second = UnixPath(path)
        with pytest.raises(SocketUnavailable, match=r"in use by another process.*--ipc"):
            second.listen()
        second.remove()
        assert Path(path).exists()
        first.remove()
        assert not Path(path).exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [("file", "no socket"), ("missing/ipc", "No such file"), ("x" * 200, "too long")],
)
def test_a_path_that_cannot_be_a_socket_is_named(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SocketUnavailable, match=problem):
        UnixPath(str(tmp_path / name)).listen()
    assert (tmp_path / "file").read_text() == "mine"
