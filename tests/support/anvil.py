"""A real anvil: Foundry's development node, started for a test and surely stopped after it."""

from __future__ import annotations

import contextlib
import http.client
import os
import platform
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from tests.support.polling import PATIENCE_SECONDS, eventually

STOP_SECONDS: Final = 5.0
"""Then it is killed."""

_PACKAGES: Final = Path(__file__).resolve().parent.parent / "node_modules" / "@foundry-rs"
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_LISTENING: Final = re.compile(r"Listening on ([0-9.]+):([0-9]+)\s")


class RpcError(Exception):
    """Anvil answered a request with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data


class Anvil:
    """A connection to a running anvil; for one thread at a time."""

    def __init__(self, host: str, port: int, pid: int) -> None:
        self.url = f"http://{host}:{port}"
        self.pid = pid
        self._connection = http.client.HTTPConnection(host, port, timeout=PATIENCE_SECONDS)

    def rpc(self, method: str, *params: object) -> Any:
        """Return the result of one call, or raise its `RpcError`."""
        outcome = self._outcome(self._post(_request(0, method, params)))
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    def batch(self, calls: Iterable[tuple[str, Sequence[object]]]) -> list[Any]:
        """Return the results of many calls in one request, with the `RpcError` of each that failed."""
        requests = [_request(n, method, params) for n, (method, params) in enumerate(calls)]
        if not requests:
            return []
        answers = {answer["id"]: answer for answer in self._post(requests)}
        return [self._outcome(answers[n]) for n in range(len(requests))]

    def receipt(self, transaction_hash: str) -> dict[str, Any]:
        """Return the receipt of a transaction that anvil took; it mines a moment after it answers."""
        receipt: dict[str, Any] = eventually(
            lambda: self.rpc("eth_getTransactionReceipt", transaction_hash)
        )
        return receipt

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._connection.close()

    def send(self, body: bytes) -> Any:
        """Return the whole answer to a document."""
        headers = {"Content-Type": "application/json"}
        try:
            self._connection.request("POST", "/", body, headers)
            return msgspec.json.decode(self._connection.getresponse().read())
        except Exception:
            # A half-read answer must not be taken for that of the next call.
            self._connection.close()
            raise

    def _post(self, body: object) -> Any:
        return self.send(msgspec.json.encode(body))

    @staticmethod
    def _outcome(answer: dict[str, Any]) -> Any:
        error = answer.get("error")
        if error is None:
            return answer["result"]
        return RpcError(error["code"], error["message"], error.get("data"))


@contextlib.contextmanager
def free_port() -> Iterator[int]:
    """Yield a port that nobody else is given meanwhile, and that who asks for it by number may listen on."""
    with socket.socket() as held:
        # With this option it is only taken when somebody listens.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextlib.contextmanager
def running_anvil(*arguments: str, port: int = 0) -> Iterator[Anvil]:
    """Start anvil with `arguments`, on a free port by default, and stop it at the end whatever happens."""
    command = [str(find_anvil()), "--host", "127.0.0.1", "--port", str(port), *arguments]
    with contextlib.ExitStack() as cleanup:
        # A file rather than a pipe: nobody has to read it for anvil to go on.
        log = cleanup.enter_context(tempfile.TemporaryFile())
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
        cleanup.callback(_stop, process)
        cleanup.enter_context(_killed_with_us(process))
        anvil = Anvil(*_listening_address(process, log, port), process.pid)
        cleanup.callback(anvil.close)
        yield anvil


def find_anvil() -> Path:
    """Return the anvil of `tests/package.json`, or one on the PATH where npm has none to offer."""
    return find_program("anvil")


def find_program(name: str) -> Path:
    """Return a program of Foundry's, found the same way."""
    machine = _MACHINES.get(platform.machine(), platform.machine())
    pinned = _PACKAGES / f"{name}-{platform.system().lower()}-{machine}" / "bin" / name
    if pinned.exists():
        return pinned
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"no {name} at {pinned} nor on the PATH; `make install` gets it")
    return Path(found)


def _request(number: int, method: str, params: Sequence[object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _listening_address(
    process: subprocess.Popen[bytes], log: IO[bytes], port: int
) -> tuple[str, int]:
    def output() -> str:
        # Anvil writes at the same file offset, so look without moving it.
        return os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")

    def look() -> tuple[str, int] | None:
        ended = process.poll() is not None
        if found := _LISTENING.search(output()):
            return found[1], int(found[2])
        if ended:
            raise RuntimeError(f"anvil did not start:\n{output()}")
        # One that is silent does not say it.
        return ("127.0.0.1", port) if port and _is_listening(port) else None

    return eventually(look, output)


def _is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


@contextlib.contextmanager
def _killed_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill `process` even if this process is killed: its end of the pipe closes, and a shell acts."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", f"read _; kill -KILL {process.pid}"],
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Otherwise a Ctrl-C would end the guard before us.
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.kill()
        guard.communicate()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
