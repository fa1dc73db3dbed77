"""A node with all features that is reset again and again holds no more than after the first time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.support.contracts.stack_trace_cases import FailingContracts
from tests.support.inprocess_node import inprocess_anvil
from tests.support.node_process import running_node
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient

RESETS = 50
WARM_UP = 3
"""Caches and the allocator's arenas are filled by then."""
MAX_GROWTH = 40 << 20
"""A node of a pair takes three times that."""
MAX_THREADS = 4
"""More threads than before: pools start one when all of theirs are busy."""
FLAGS = ("--relay", "0", "--finalize-withdrawals", "--accounts", "1")


class Held(NamedTuple):
    """What a process holds."""

    memory: int
    files: int
    threads: int

    @classmethod
    def by(cls, pid: int) -> Held:
        folder = Path(f"/proc/{pid}")
        fields = dict(
            line.split(":", 1) for line in (folder / "status").read_text("ascii").splitlines()
        )
        files = len(list((folder / "fd").iterdir()))
        return cls(int(fields["VmRSS"].split()[0]) << 10, files, int(fields["Threads"]))


def test_fifty_resets_leave_memory_files_and_threads_as_they_were() -> None:
    with (
        inprocess_anvil("anvil", "--chain-id", "5") as remote,
        running_node("--fork-url", remote.url, *FLAGS) as node,
        closing(HttpRpcClient(node.url)) as client,
    ):
        FailingContracts(client)
        pid, first = node.process.pid, None
        for number in range(RESETS):
            assert client("hardhat_reset", {"forking": {"jsonRpcUrl": remote.url}}) is True
            client("anvil_mine", "0x1")
            if number == WARM_UP:
                first = Held.by(pid)
        assert first is not None

        def is_as_before() -> bool:
            # What a reset replaces is closed once it is idle.
            held = Held.by(pid)
            return (
                held.files <= first.files
                and held.threads <= first.threads + MAX_THREADS
                and held.memory <= first.memory + MAX_GROWTH
            )

        eventually(is_as_before, lambda: f"{Held.by(pid)} after {first}")
