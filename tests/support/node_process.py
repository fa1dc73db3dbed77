"""A real node in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.polling import PATIENCE_SECONDS, eventually

ENTRESOL = (sys.executable, "-m", "entresol")
DEVELOPMENT_FLAGS = ("--accounts", "10", "--dev-methods", "--expose-unlocked-accounts")
"""Flags that give a node on a remote L1 the accounts and the methods of a development pair."""

_LISTENING = re.compile(rb"Listening on ([^\s\"]+)[\s\"]")


class RunningNode:
    def __init__(self, process: subprocess.Popen[bytes], log: int, url: str = "") -> None:
        self.process = process
        self.url = url
        self.output = _read(log).decode()
        self._log = log

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def printed(self) -> str:
        return _read(self._log).decode()

    def ready(self, info: Path | None = None) -> RunningNode:
        url = _wait_for_url(self.process, self._log, info)
        return RunningNode(self.process, self._log, url)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def running_node(
    *arguments: str,
    info: Path | None = None,
    command: Sequence[str] = ENTRESOL,
    environment: Mapping[str, str] | None = None,
) -> Iterator[RunningNode]:
    """Start a node on a free port, and stop it at the end whatever happens.

    It is ready when its banner says so, or when it has written `info`.
    """
    with starting_node(*arguments, command=command, environment=environment) as node:
        yield node.ready(info)


@contextlib.contextmanager
def starting_node(
    *arguments: str,
    command: Sequence[str] = ENTRESOL,
    environment: Mapping[str, str] | None = None,
    port: int = 0,
) -> Iterator[RunningNode]:
    """Start a node that may never be ready, and stop it at the end whatever happens."""
    with tempfile.TemporaryFile() as log:
        started = [*command, *arguments, "--port", str(port), "--l1-port", "0"]
        process = subprocess.Popen(started, stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            yield RunningNode(process, log.fileno())
        finally:
            process.kill()
            process.wait()


def run_entresol(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ENTRESOL, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        env=os.environ | environment,
    )


def _wait_for_url(process: subprocess.Popen[bytes], log: int, info: Path | None) -> str:
    def listening() -> str | None:
        found = _LISTENING.search(_read(log))
        if found is not None:
            return f"http://{found[1].decode()}"
        if info is not None and info.exists():
            return str(json.loads(info.read_text(encoding="utf-8"))["http_url"])
        assert process.poll() is None, _read(log).decode()
        return None

    return eventually(listening, lambda: _read(log).decode())


def _read(log: int) -> bytes:
    return os.pread(log, 1 << 24, 0)
