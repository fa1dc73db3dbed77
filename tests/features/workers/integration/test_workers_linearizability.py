"""Nodes with workers: what any process has shown, every later request to any process sees."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.clients.accounts import ALICE, BOB
from tests.support.node_process import RunningNode, running_node
from tests.support.workers import ProcessClient, clients_of, processes_of

# ENTRESOL_WORKER_CHANGES=5000 for the long run.
CHANGES = int(os.environ.get("ENTRESOL_WORKER_CHANGES", "300"))
READERS_PER_PROCESS = 2


class Version(NamedTuple):
    """A state of the chain, and when the change to it began and was acknowledged."""

    began: float
    acknowledged: float
    head: str
    balance: str


class Reading(NamedTuple):
    """The result of one request, and when it was there."""

    began: float
    ended: float
    field: str
    value: str
    pid: int


class Writer:
    """Changes the chain through random processes, one change after another."""

    def __init__(self, clients: list[ProcessClient], randomness: random.Random) -> None:
        self._clients = clients
        self._random = randomness
        self._snapshots: list[str] = []
        self._serial = 0
        self.versions = [Version(0.0, 0.0, *self._state())]

    def change(self) -> None:
        action = self._random.choice(
            [self._mine, self._send, self._edit, self._edit, self._snapshot, self._revert]
        )
        began = time.monotonic()
        action()
        acknowledged = time.monotonic()
        self.versions.append(Version(began, acknowledged, *self._state()))

    def _client(self) -> ProcessClient:
        return self._random.choice(self._clients)

    def _state(self) -> tuple[str, str]:
        # The producer is the reference.
        producer = self._clients[0]
        head = producer("eth_getBlockByNumber", "latest", False)["hash"]
        return head, producer("eth_getBalance", BOB.address, "latest")

    def _mine(self) -> None:
        self._client()("evm_mine")

    def _send(self) -> None:
        transfer = {"from": ALICE.address, "to": BOB.address, "value": "0x1"}
        self._client()("eth_sendTransaction", transfer)

    def _edit(self) -> None:
        self._serial += 1
        self._client()("anvil_setBalance", BOB.address, hex(10**20 + self._serial * 10**6))

    def _snapshot(self) -> None:
        self._snapshots.append(self._client()("evm_snapshot"))

    def _revert(self) -> None:
        if self._snapshots:
            self._client()("evm_revert", self._snapshots.pop())


def read_until(
    stopped: threading.Event, client: ProcessClient, pid: int, readings: list[Reading]
) -> None:
    """Read head and balance in turns."""
    reads: list[tuple[str, Callable[[], Any]]] = [
        ("head", lambda: client("eth_getBlockByNumber", "latest", False)["hash"]),
        ("balance", lambda: client("eth_getBalance", BOB.address, "latest")),
    ]
    while not stopped.is_set():
        for field, read in reads:
            began = time.monotonic()
            value = read()
            readings.append(Reading(began, time.monotonic(), field, value, pid))


def check(versions: list[Version], readings: list[Reading]) -> None:
    """Give each reading the earliest version that it can be of; fail if it must be of one from before.

    A change that is not acknowledged yet may be seen or not, but not by one request and not by a later one.
    """
    finished: list[tuple[float, int]] = []
    for reading in sorted(readings, key=lambda it: it.ended):
        acknowledged = [n for n, it in enumerate(versions) if it.acknowledged <= reading.began]
        shown = [version for ended, version in finished[-400:] if ended <= reading.began]
        lowest = max([*acknowledged[-1:], *shown])
        possible = (
            n
            for n in range(lowest, len(versions))
            if versions[n].began <= reading.ended
            and getattr(versions[n], reading.field) == reading.value
        )
        version = next(possible, None)
        assert version is not None, (reading, lowest, versions[max(lowest - 3, 0) : lowest + 3])
        finished.append((reading.ended, version))


def test_no_process_shows_what_another_has_shown_to_be_past() -> None:
    with running_node("--workers", "3", "--no-l1", "--log-level", "warning") as node:
        with clients_of(node) as clients:
            writer = Writer(clients, random.Random())
            readings = run(node, writer)
        check(writer.versions, readings)
        assert len(readings) > CHANGES
        assert node.stop() == 0


def run(node: RunningNode, writer: Writer) -> list[Reading]:
    """Read on all processes while the writer changes the chain."""
    stopped, readings, failures = threading.Event(), [], []  # type: ignore[var-annotated]

    def read(pid: int) -> None:
        client = ProcessClient(node.url, pid)
        try:
            read_until(stopped, client, pid, readings)
        except Exception as error:  # noqa: BLE001 - asserted below
            failures.append(error)
        finally:
            client.close()

    readers = [
        threading.Thread(target=read, args=(pid,))
        for pid in processes_of(node)
        for _ in range(READERS_PER_PROCESS)
    ]
    for reader in readers:
        reader.start()
    try:
        for _ in range(CHANGES):
            writer.change()
    finally:
        stopped.set()
        for reader in readers:
            reader.join()
    assert failures == []
    return readings
