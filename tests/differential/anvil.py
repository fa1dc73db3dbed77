"""A real anvil, started for a test and stopped after it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

PACKAGES = Path(__file__).resolve().parent.parent / "node_modules" / "@foundry-rs"


class RpcError(Exception):
    """Anvil answered a request with an error."""


class Anvil:
    """A connection to a running anvil."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=120)

    def rpc(self, method: str, *params: object) -> Any:
        """Return the result of one call, or raise its `RpcError`."""
        outcome = self.batch([(method, params)])[0]
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    def batch(self, calls: Iterable[tuple[str, Sequence[object]]]) -> list[Any]:
        """Return the results of many calls, with the `RpcError` of each that failed."""
        body = [
            {"jsonrpc": "2.0", "id": n, "method": method, "params": list(params)}
            for n, (method, params) in enumerate(calls)
        ]
        if not body:
            return []
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/", json.dumps(body), headers)
        answers = json.loads(self._connection.getresponse().read())
        by_id = {answer["id"]: answer for answer in answers}
        return [_outcome(by_id[n]) for n in range(len(body))]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _outcome(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    return answer["result"] if error is None else RpcError(error["message"])


@contextlib.contextmanager
def running_anvil(*arguments: str) -> Iterator[Anvil]:
    """Start anvil with `arguments` on a free port, and stop it at the end whatever happens."""
    command = [find_anvil(), "--host", "127.0.0.1", "--port", "0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    # Anvil tells of every request, and stops when nobody listens.
    listener = threading.Thread(target=process.stdout.read)
    try:
        listening = (re.search(r"Listening on ([0-9.]+):(\d+)", line) for line in process.stdout)
        host, port = next(found for found in listening if found).groups()
        listener.start()
        with contextlib.closing(Anvil(host, int(port))) as anvil:
            yield anvil
    finally:
        process.kill()
        process.wait()
        listener.join()
        process.stdout.close()


def find_anvil() -> str:
    """Return the path of the binary: the one named by ANVIL, or that of `tests/package.json`."""
    if "ANVIL" in os.environ:
        return os.environ["ANVIL"]
    return str(next(PACKAGES.glob("anvil-*/bin/anvil")))
