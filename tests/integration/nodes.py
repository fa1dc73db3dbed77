"""A real node in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

START_SECONDS = 30.0
STOP_SECONDS = 10.0
_LISTENING = re.compile(rb"Listening on ([^\s\"]+)")


class RunningNode:
    """A node that was started for a test."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, output: bytes) -> None:
        self.process = process
        self.url = url
        self.output = output.decode()

    def stop(self) -> int:
        """Ask the node to stop, and return its exit code."""
        self.process.terminate()
        return self.process.wait(STOP_SECONDS)


@contextlib.contextmanager
def running_node(*arguments: str) -> Iterator[RunningNode]:
    """Start a node on a free port, and stop it at the end whatever happens."""
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "entresol", "--port", "0", *arguments]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            output = _wait_for_banner(process, log.fileno())
            found = _LISTENING.search(output)
            assert found is not None
            yield RunningNode(process, f"http://{found[1].decode()}", output)
        finally:
            process.kill()
            process.wait()


def _wait_for_banner(process: subprocess.Popen[bytes], log: int) -> bytes:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        output = os.pread(log, 1 << 20, 0)
        if _LISTENING.search(output):
            return output
        assert process.poll() is None, output.decode()
        time.sleep(0.01)
    raise TimeoutError(os.pread(log, 1 << 20, 0).decode())
