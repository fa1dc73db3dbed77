"""Processes that share a node: requests a second and their CPU time, and what idle workers cost the producer."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import msgspec

from benchmarks.harness import Row, Target
from benchmarks.load import Load, Sample, load
from benchmarks.processor_time import cpu_seconds
from tests.support.clients.accounts import ALICE
from tests.support.node_process import RunningNode, running_node
from tests.support.workers import ProcessClient, processes_of

PROCESSES: Final = (1, 2)
ROUNDS: Final = 5
BODIES: Final = 2_000
MINED: Final = 200
"""Blocks of a round, each of a transfer that is sent alone."""
MAX_LOSS: Final = 0.1
"""The part of its block rate that idle workers may cost a producer."""


class Measured(NamedTuple):
    """A node of some processes."""

    node: RunningNode
    processes: int

    def cpu_seconds(self, pids: Iterable[int] | None = None) -> float:
        """Return how long the node's processes have computed."""
        chosen = processes_of(self.node) if pids is None else pids
        return sum(map(cpu_seconds, chosen))


def rows() -> Iterable[Row]:
    """Measure nodes of one and of two processes in turns."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(_node(count)) for count in PROCESSES]
        for name, body in _requests():
            bodies = [json.dumps(body(n)).encode() for n in range(BODIES)]
            with load(bodies) as requests:
                yield from _read_rows(name, requests, nodes)
        yield from _block_rows(nodes, "temporary")
    with ExitStack() as stack:
        nodes = [stack.enter_context(_node(count, durable=True)) for count in PROCESSES]
        yield from _block_rows(nodes, "durable")


def _requests() -> Iterator[tuple[str, Callable[[int], object]]]:
    def request(method: str, *params: object) -> object:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    yield "eth_getBalance", lambda n: request("eth_getBalance", f"0x{n + 1:040x}", "latest")
    yield (
        "eth_call",
        lambda n: request(
            "eth_call", {"from": f"0x{n + 1:040x}", "to": f"0x{n + 2:040x}"}, "latest"
        ),
    )
    yield (
        "eth_getTransactionCount of pending, forwarded",
        lambda n: request("eth_getTransactionCount", f"0x{n + 1:040x}", "pending"),
    )


@contextmanager
def _node(processes: int, *, durable: bool = False) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        info = Path(folder) / "info.json"
        flags = ["--no-l1", "--silent", "--workers", str(processes), "--config-out", str(info)]
        flags += ["--data-dir", f"{folder}/data"] if durable else []
        with running_node(*flags, info=info) as node:
            yield Measured(node, processes)


def _read_rows(name: str, requests: Load, nodes: list[Measured]) -> Iterator[Row]:
    samples: list[list[Sample]] = [[] for _ in nodes]
    for _ in range(ROUNDS):
        for at, measured in enumerate(nodes):
            before = measured.cpu_seconds()
            sample = requests.put_on(measured.node.url)
            cpu = (measured.cpu_seconds() - before) / max(sample.requests, 1) * 1e6
            samples[at].append(msgspec.structs.replace(sample, cpu=cpu))
    for measured, taken in zip(nodes, samples, strict=True):
        # The round that was disturbed least.
        best, cpu = max(taken, key=lambda it: it.rate), min(load.cpu for load in taken)
        yield Row(
            what=f"{name}, {_processes(measured)}",
            value=best.rate,
            unit="/s",
            note=f"{1e6 / cpu:,.0f} a CPU-second; {best.details}",
        )


def _block_rows(nodes: list[Measured], store: str) -> Iterator[Row]:
    """Yield how many blocks a second the producer seals, while its workers have nothing to do."""
    rates: list[list[float]] = [[] for _ in nodes]
    costs: list[list[float]] = [[] for _ in nodes]
    for _ in range(ROUNDS):
        for at, measured in enumerate(nodes):
            client = ProcessClient(measured.node.url, measured.node.process.pid)
            before, began = measured.cpu_seconds(), perf_counter()
            for _ in range(MINED):
                client("eth_sendTransaction", {"from": ALICE.address, "to": ALICE.address})
            rates[at].append(MINED / (perf_counter() - began))
            costs[at].append((measured.cpu_seconds() - before) / MINED * 1e6)
            client.close()
    alone = max(rates[0])
    for measured, rate, cost in zip(nodes, rates, costs, strict=True):
        target = None if measured.processes == 1 else Target((1 - MAX_LOSS) * alone, "at least")
        yield Row(
            what=f"blocks, {store}, {_processes(measured)}, workers idle",
            value=max(rate),
            unit="/s",
            target=target,
            note=f"CPU of all processes {min(cost):.0f} µs a block",
        )


def _processes(measured: Measured) -> str:
    return "1 process" if measured.processes == 1 else f"{measured.processes} processes"
