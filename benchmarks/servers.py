"""A node and anvil side by side: start them on one core, and measure both in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.harness import Peer, Row, Target
from benchmarks.load import SERVER_CORE, Load, Sample, pinned
from benchmarks.processor_time import cpu_seconds
from tests.support.anvil import free_port, running_anvil
from tests.support.node_process import running_node
from tests.support.rpc_client import HttpRpcClient

CHAIN_ID: Final = 31337
GAS_LIMIT: Final = 1_000_000_000


class Server(msgspec.Struct, frozen=True):
    """A server under load."""

    name: str
    client: HttpRpcClient
    pid: int

    def resident_bytes(self) -> int:
        """Return how much memory the process has."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def cpu_seconds(self) -> float:
        """Return how long the process has computed."""
        return cpu_seconds(self.pid)

    def under(self, requests: Load) -> Sample:
        """Put a load on the server for one round."""
        before = self.cpu_seconds()
        sample = requests.put_on(self.client.url)
        # A slow and disturbed server may respond to nothing in a round.
        cpu = (self.cpu_seconds() - before) / max(sample.requests, 1) * 1e6
        return msgspec.structs.replace(sample, cpu=cpu)


@contextmanager
def both(*flags: str, silent: bool = True) -> Iterator[tuple[Server, Server]]:
    """Start a node and anvil, on one core that they share and the loader leaves alone."""
    shared = ["--gas-limit", str(GAS_LIMIT), *(["--silent"] if silent else []), *flags]
    with ExitStack() as stack:
        info = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "facts.json"
        ours = ["--no-l1", "--chain-id", str(CHAIN_ID), "--config-out", str(info)]
        with pinned(SERVER_CORE):
            node = stack.enter_context(running_node(*shared, *ours, info=info))
            port = stack.enter_context(free_port())
            anvil = stack.enter_context(running_anvil(*shared, "--hardfork", "osaka", port=port))
        client = HttpRpcClient(node.url)
        stack.callback(client.close)
        yield Server("node", client, node.process.pid), Server("anvil", anvil, anvil.pid)


def in_turns(measure: Callable[[int], Sample], servers: int, rounds: int) -> list[list[Sample]]:
    """Return the samples of each server, taken one by one in turns."""
    samples = [[measure(at) for at in range(servers)] for _ in range(rounds)]
    return [[turn[at] for turn in samples] for at in range(servers)]


def row(what: str, samples: Sequence[Sequence[Sample]], ratio: float | None) -> Row:
    """Return the medians of both servers side by side; `ratio` is the target, in multiples of anvil's rate."""
    ours, theirs = (Sample.median(sample) for sample in samples)
    return Row(
        what=what,
        value=ours.rate,
        unit="/s",
        peer=Peer("anvil", theirs.rate),
        target=None if ratio is None else Target(ratio * theirs.rate, "at least"),
        note=f"{ours.details} (anvil {theirs.details})",
    )
