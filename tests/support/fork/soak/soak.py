"""A fork in a process of its own, used at random while its remote misbehaves; and what is measured meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from tests.support.anvil import Anvil, free_port, running_anvil
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import ANVIL
from tests.support.fork.soak.branches import (
    ANCHOR,
    GAS,
    PRICE,
    SLOTS,
    Branches,
    branches,
    words,
)
from tests.support.fork.soak.outcomes import Outcomes
from tests.support.fork.soak.past_reads import PICKS, PastReads
from tests.support.fork.soak.weather import Weather
from tests.support.rpc_client import HttpRpcClient

READERS: Final = 3
PATIENCE: Final = 60.0
"""No request takes longer: a call of the fork waits for at most ten times its time-out, which is two seconds."""
CALM_SHARE: Final = 0.2
"""The share of the time at the beginning in which the remote behaves."""
FLAGS: Final = (
    *("--fork-timeout", "2000", "--fork-retries", "2", "--fork-retry-backoff", "50"),
    "--no-storage-caching",
)


class SoakReport(msgspec.Struct):
    """The findings of a soak."""

    right: int
    named: dict[str, int]
    wrong: list[str]
    weather: dict[str, int]
    longest: float
    """Seconds that the slowest request took."""
    memory: list[int]
    """Resident mebibytes of the fork, at equal distances."""
    log: str


def soak(seed: int, seconds: float, place: Path) -> SoakReport:
    """Use a fork for so long; what is random follows from the seed."""
    output = place / "fork.log"
    with branches() as chains, faulty_proxy(chains.remote.url) as proxy, free_port() as port:
        flags = ("--fork-url", f"{proxy.url}@{ANCHOR}", *FLAGS)
        quiet = running_anvil(*flags, "--quiet", port=port, program=ANVIL, output=output)
        with quiet as fork, ExitStack() as connections:
            run = _Soak(chains, proxy, fork, seed, connections)
            run.run(seconds)
            return run.report(output.read_text())


class _Soak:
    def __init__(
        self, chains: Branches, proxy: FaultyProxy, fork: Anvil, seed: int, connections: ExitStack
    ) -> None:
        self._chains = chains
        self._fork = fork
        self._connections = connections
        self._random = Random(seed)
        self._outcomes = Outcomes()
        self._weather = Weather(proxy, (chains.remote.url, chains.other.url), seed)
        self._over = threading.Event()
        self._memory: list[int] = []
        self._expected: dict[bytes, Any] = {}

    def run(self, seconds: float) -> None:
        """Let everybody work for so long."""
        works = [
            *(self._reader(self._random.random()) for _ in range(READERS)),
            self._writer(self._random.random()),
            self._watch_memory(seconds),
        ]
        with ThreadPoolExecutor(len(works)) as threads:
            running = [threads.submit(work) for work in works]
            self._over.wait(seconds * CALM_SHARE)
            self._weather.start()
            wait(running, seconds * (1 - CALM_SHARE), FIRST_EXCEPTION)
            self._over.set()
            self._weather.end()
            for work in running:
                work.result(PATIENCE)

    def report(self, log: str) -> SoakReport:
        """Return what was found."""
        found = self._outcomes
        return SoakReport(
            found.right,
            dict(found.named),
            found.wrong,
            dict(self._weather.seen),
            round(found.longest, 2),
            self._memory,
            log,
        )

    def _connected(self, url: str) -> HttpRpcClient:
        return self._connections.enter_context(closing(HttpRpcClient(url, PATIENCE)))

    def _reader(self, seed: float) -> Callable[[], None]:
        """Return how somebody reads the past."""
        client, remote = self._connected(self._fork.url), self._connected(self._chains.remote.url)
        reads = PastReads(self._chains, Random(seed))

        def run() -> None:
            while not self._over.is_set():
                method, params = reads.next()
                result = self._outcomes.of(client, method, *params)
                if result is None:
                    continue
                pick = PICKS.get(method, _whole)
                key = msgspec.json.encode([method, params])
                if key not in self._expected:
                    self._expected[key] = pick(remote(method, *params))
                self._outcomes.check(method, params, pick(result.value), self._expected[key])

        return run

    def _writer(self, seed: float) -> Callable[[], None]:
        """Return how somebody sends what has to be in a block, or to have left nothing."""
        client, random, sender = (
            self._connected(self._fork.url),
            Random(seed),
            self._chains.accounts[0],
        )
        call = {"from": sender, "to": self._chains.store, "gas": GAS, "gasPrice": PRICE}

        def run() -> None:
            nonce = int(client("eth_getTransactionCount", sender, "latest"), 16)
            while not self._over.is_set():
                slot, value = random.randrange(2 * SLOTS), random.getrandbits(64) + 1
                fields = {**call, "data": words(slot, random.choice([0, 1, 30]), value)}
                sent = self._outcomes.of(client, "eth_sendTransaction", fields)
                nonce += sent is not None
                counted = client("eth_getTransactionCount", sender, "pending")
                self._outcomes.check("nonce", [sender], int(counted, 16), nonce)
                if sent is not None:
                    named = [self._chains.store, f"0x{slot:064x}", "latest"]
                    stored = client("eth_getStorageAt", *named)
                    self._outcomes.check("eth_getStorageAt", named, int(stored, 16), value)

        return run

    def _watch_memory(self, seconds: float) -> Callable[[], None]:
        status = Path(f"/proc/{self._fork.pid}/status")

        def run() -> None:
            while not self._over.wait(seconds / 30):
                (line,) = (line for line in status.read_text().splitlines() if "VmRSS" in line)
                self._memory.append(int(line.split()[1]) >> 10)

        return run


def _whole(result: Any) -> Any:
    return result
