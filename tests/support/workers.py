"""Connections to a chosen process of a node with workers."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.node_process import RunningNode
from tests.support.polling import eventually
from tests.support.rpc_client import CheckedRpcClient

MAX_CONNECTIONS = 400
"""The system spreads connections by a hash, so that some attempts find every process."""


def workers_of(node: RunningNode) -> list[int]:
    pid = node.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return sorted(map(int, children))


def processes_of(node: RunningNode) -> list[int]:
    return [node.process.pid, *workers_of(node)]


class ProcessClient(CheckedRpcClient):
    def __init__(self, url: str, pid: int) -> None:
        super().__init__(url)
        self._connection.sock = connect_to(url, pid)

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path)
        return self._connection.getresponse().read()


@contextlib.contextmanager
def clients_of(node: RunningNode, url: str = "") -> Iterator[list[ProcessClient]]:
    """Open a connection to each process of a node, the producer's first."""
    clients = [ProcessClient(url or node.url, pid) for pid in processes_of(node)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


def connect_to(url: str, pid: int) -> socket.socket:
    address = urlsplit(url)
    target = (address.hostname or "", address.port or 0)
    others = []
    try:
        for _ in range(MAX_CONNECTIONS):
            connected = socket.create_connection(target)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if _serving(connected, [pid]) == pid:
                return connected
            others.append(connected)
    finally:
        for other in others:
            other.close()
    raise AssertionError(f"no connection to process {pid}")


def _serving(connected: socket.socket, candidates: list[int]) -> int | None:
    """Return which of the candidates has accepted a connection, or None if another process has."""
    inode = eventually(lambda: _inode(connected))
    for pid in candidates:
        if inode in _inodes(pid):
            return pid
    return None


def _inode(connected: socket.socket) -> str | None:
    ours, theirs = connected.getsockname()[1], connected.getpeername()[1]
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if _port(fields[1]) == theirs and _port(fields[2]) == ours:
            return fields[9] if fields[9] != "0" else None
    return None


def _inodes(pid: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(str(entry.readlink()).removeprefix("socket:[").rstrip("]"))
    return found


def _port(field: str) -> int:
    return int(field.rpartition(":")[2], 16)
