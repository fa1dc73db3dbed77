"""The life of a server's process: from the command to its first response, and from the signal to the end."""

from __future__ import annotations

import http.client
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from entresol.node.startup.banner import READY

BODY: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})


class Life(NamedTuple):
    """The seconds that a node took to respond and to end, and those of the processor."""

    start: float
    stop: float
    processor: float

    @staticmethod
    def best(lives: Iterable[Life]) -> Life:
        """Return the shortest of each."""
        return Life(*map(min, zip(*lives, strict=True)))


@contextmanager
def bytecode() -> Iterator[dict[str, str]]:
    """Return an environment that caches bytecode, as any but the first start finds it."""
    with tempfile.TemporaryDirectory() as folder:
        cached = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        cached.pop("PYTHONDONTWRITEBYTECODE", None)
        yield cached


def life(command: list[str], environment: dict[str, str] | None = None) -> Life:
    """Start a server, ask each address that it prints, and end it."""
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
