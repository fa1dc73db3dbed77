"""Start and stop: from the command to the first response, from the signal to the end, and the import."""

from __future__ import annotations

import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from benchmarks.harness import Peer, Row, Target
from entresol.node.startup.banner import READY
from tests.support.anvil import find_anvil

ROUNDS: Final = 5
BODY: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})


class Life(NamedTuple):
    """The seconds that a node took to respond and to end, and those of the processor."""

    start: float
    stop: float
    processor: float


def rows() -> Iterable[Row]:
    """Measure the life of a node and of anvil, and what importing the package takes."""
    with _bytecode() as environment:
        ours = _best(
            [sys.executable, "-m", "entresol", "--port", "0", "--l1-port", "0"], environment
        )
        empty, imported = (_best_run(code, environment) for code in ("", "import entresol"))
    theirs = _best([str(find_anvil()), "--port", "0"])
    yield Row(
        what="start to first response on both layers",
        value=ours.start * 1e3,
        unit="ms",
        peer=Peer("anvil", theirs.start * 1e3),
        target=Target(700, "at most"),
        note=f"{ours.processor * 1e3:.0f} ms of the processor, to the end",
    )
    yield Row(
        what="signal to end",
        value=ours.stop * 1e3,
        unit="ms",
        peer=Peer("anvil", theirs.stop * 1e3),
        target=Target(1_000, "at most"),
    )
    yield Row(
        what="import entresol",
        value=(imported - empty) * 1e3,
        unit="ms",
        target=Target(100, "at most"),
        note=f"of {imported * 1e3:.0f} ms of the process",
    )


@contextmanager
def _bytecode() -> Iterator[dict[str, str]]:
    """Return an environment that caches bytecode, as any but the first start finds it."""
    with tempfile.TemporaryDirectory() as folder:
        cached = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        cached.pop("PYTHONDONTWRITEBYTECODE", None)
        yield cached


def _best(command: list[str], environment: dict[str, str] | None = None) -> Life:
    lives = [_life(command, environment) for _ in range(ROUNDS)]
    return Life(*map(min, zip(*lives, strict=True)))


def _best_run(code: str, environment: dict[str, str]) -> float:
    """Return the seconds that a process of Python takes to run `code`."""

    def run() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        return time.perf_counter() - begun

    return min(run() for _ in range(ROUNDS))


def _life(command: list[str], environment: dict[str, str] | None) -> Life:
    used, begun = _processor(), time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for address in _addresses(process.stdout):
            connection = http.client.HTTPConnection(address)
            connection.request("POST", "/", BODY, {"Content-Type": "application/json"})
            assert "result" in json.loads(connection.getresponse().read())
            connection.close()
        responded = time.perf_counter()
        process.terminate()
        process.wait()
        ended = time.perf_counter()
    return Life(responded - begun, ended - responded, _processor() - used)


def _processor() -> float:
    """Return the processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _addresses(lines: Iterable[str]) -> set[str]:
    """Return where every layer listens, once the banner has it."""
    found = set()
    for line in lines:
        if line.startswith("HTTP "):
            found.add(line.split()[1].removeprefix("http://"))
        if line.startswith(READY):
            return {*found, line.split()[2]}
    raise AssertionError("it did not start")
