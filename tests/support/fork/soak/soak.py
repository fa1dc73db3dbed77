"""A fork in a process of its own, used at random while its remote misbehaves; and what is measured meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from tests.support.anvil import Anvil, free_port, running_anvil
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import ANVIL
from tests.support.fork.soak.branches import ANCHOR, Branches, branches
from tests.support.fork.soak.outcomes import Outcomes
from tests.support.fork.soak.past_reads import PICKS, PastReads, Read
from tests.support.fork.soak.twins import Twins
from tests.support.fork.soak.weather import Weather
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient

READERS: Final = 3
PATIENCE: Final = 60.0
"""No request takes longer: a call of the fork waits for at most ten times its time-out, which is two seconds."""
CALM_SHARE: Final = 0.2
"""The share of the time at the beginning in which the remote behaves."""
LOCAL_PAUSE: Final = 0.01
FLAGS: Final = (
    "--fork-timeout",
    "2000",
    "--fork-retries",
    "2",
    "--fork-retry-backoff",
    "50",
    "--no-storage-caching",
)


class SoakReport(msgspec.Struct):
    """The findings of a soak."""

    right: int
    named: dict[str, int]
    wrong: list[str]
    weather: dict[str, int]
    calm_p99: float
    """Milliseconds of local calls while the remote behaves."""
    storm_p99: float
    calm_p50: float
    storm_p50: float
    longest: float
    """Seconds that the slowest request took."""
    memory: list[int]
    """Resident mebibytes of the fork, at equal distances."""
    log: str

    def summary(self) -> dict[str, Any]:
        """Return it without the log."""
        return {
            name: it if name != "wrong" else len(self.wrong)
            for name, it in msgspec.structs.asdict(self).items()
            if name != "log"
        }


def soak(seed: int, seconds: float, place: Path) -> SoakReport:
    """Use a fork for so long; what is random follows from the seed."""
    output = place / "fork.log"
    with branches() as chains, faulty_proxy(chains.remote.url) as proxy, free_port() as port:
        flags = ("--fork-url", f"{proxy.url}@{ANCHOR}", *FLAGS)
        quiet = running_anvil(*flags, "--quiet", port=port, program=ANVIL, output=output)
        with quiet as fork:
            run = _Soak(chains, proxy, fork, seed)
            with run.closing():
                run.run(seconds)
            return run.report(output.read_text())


class _Soak:
    def __init__(self, chains: Branches, proxy: FaultyProxy, fork: Anvil, seed: int) -> None:
        self._chains = chains
        self._fork = fork
        self._random = Random(seed)
        self._outcomes = Outcomes()
        self._weather = Weather(proxy, (chains.remote.url, chains.other.url), seed)
        self._over = threading.Event()
        self._storm = threading.Event()
        self._calm: list[float] = []
        self._stormy: list[float] = []
        self._memory: list[int] = []
        self._clients: list[HttpRpcClient] = []
        self._failures: list[BaseException] = []
        self._expected: dict[bytes, Any] = {}

    def run(self, seconds: float) -> None:
        """Let everybody work for so long, then compare everything."""
        reads = PastReads(self._chains, Random(self._random.random()))
        random = Random(self._random.random())
        twins = Twins(self._chains, self._client(), self._weather, self._outcomes, reads, random)
        works: list[Callable[[], None]] = [
            lambda: self._act(twins),
            self._watch_memory(seconds),
            self._call_locally,
            *(self._reader(self._random.random()) for _ in range(READERS)),
        ]
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        self._over.wait(seconds * CALM_SHARE)
        self._storm.set()
        self._weather.start()
        self._over.wait(seconds * (1 - CALM_SHARE))
        self._over.set()
        self._weather.end()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a request hangs"
        if self._failures:
            raise self._failures[0]
        named = self._outcomes.named.copy()
        # An endpoint that failed rests for a moment.
        eventually(
            lambda: self._outcomes.of(self._fork, "eth_getBalance", reads.cold_address(), "latest")
        )
        self._outcomes.named.clear()
        twins.compare_all()
        self._outcomes.wrong += [f"in calm: {entry}" for entry in self._outcomes.named]
        self._outcomes.named = named

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Close all connections at the end."""
        try:
            yield
        finally:
            for client in self._clients:
                client.close()

    def report(self, log: str) -> SoakReport:
        """Return what was found."""
        found = self._outcomes
        return SoakReport(
            found.right,
            dict(found.named),
            found.wrong,
            dict(self._weather.seen),
            _quantile(self._calm, 0.99),
            _quantile(self._stormy, 0.99),
            _quantile(self._calm, 0.5),
            _quantile(self._stormy, 0.5),
            round(found.longest, 2),
            self._memory,
            log,
        )

    def _client(self) -> HttpRpcClient:
        return self._connected(self._fork.url)

    def _connected(self, url: str) -> HttpRpcClient:
        client = HttpRpcClient(url, PATIENCE)
        self._clients.append(client)
        return client

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised by who has started it
            self._failures.append(error)
            self._over.set()

    def _act(self, twins: Twins) -> None:
        while not self._over.is_set():
            twins.act()

    def _reader(self, seed: float) -> Callable[[], None]:
        def run() -> None:
            client, remote = self._client(), self._connected(self._chains.remote.url)
            reads = PastReads(self._chains, Random(seed))
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

    def _call_locally(self) -> None:
        """Time calls that need nothing of the remote."""
        client = self._client()
        account = self._chains.accounts[0]
        calls: list[Read] = [
            ("eth_blockNumber", []),
            ("eth_getBalance", [account, "latest"]),
            ("eth_call", [{"to": account, "from": account}, "latest"]),
        ]
        while not self._over.is_set():
            for method, params in calls:
                began = time.perf_counter()
                client(method, *params)
                times = self._stormy if self._storm.is_set() else self._calm
                times.append(time.perf_counter() - began)
            self._over.wait(LOCAL_PAUSE)

    def _watch_memory(self, seconds: float) -> Callable[[], None]:
        status = Path(f"/proc/{self._fork.pid}/status")

        def run() -> None:
            while not self._over.wait(seconds / 30):
                (line,) = (line for line in status.read_text().splitlines() if "VmRSS" in line)
                self._memory.append(int(line.split()[1]) >> 10)

        return run


def _whole(result: Any) -> Any:
    return result


def _quantile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return round(1_000 * ordered[int(share * (len(ordered) - 1))], 2) if ordered else 0.0
