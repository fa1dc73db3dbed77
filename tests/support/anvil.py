"""A real anvil: Foundry's development node, started for a test and surely stopped after it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from tests.support.polling import PATIENCE_SECONDS, POLL_SECONDS, eventually
from tests.support.rpc_client import HttpRpcClient
from tests.support.run.environment import tool_environment

STOP_SECONDS: Final = 5.0
"""Then it is killed."""

AUTOMINE_SECONDS: Final = 5.0
"""A transaction that is still pending then cannot be mined, as with too low a fee."""

_PACKAGES: Final = Path(__file__).resolve().parent.parent / "node_modules" / "@foundry-rs"
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_SENDS: Final = frozenset(
    {"eth_sendTransaction", "eth_sendRawTransaction", "eth_sendUnsignedTransaction"}
)
_GUARD: Final = """
while read sign pid; do
    left=
    for other in $pids; do [ "$other" = "$pid" ] || left="$left $other"; done
    pids=$left
    [ "$sign" = - ] || pids="$pids $pid"
done
[ -z "$pids" ] || kill -KILL $pids
"""
"""Reads which processes begin and end, and kills those that are left."""
_LISTENING: Final = re.compile(r"Listening on ([0-9.]+):([0-9]+)\s")


class Anvil(HttpRpcClient):
    """A connection to a running anvil; for one thread at a time."""

    def __init__(self, url: str, pid: int) -> None:
        super().__init__(url)
        self.pid = pid

    def __call__(self, method: str, *params: object) -> Any:
        """Return the result of a method; what was sent is mined by then if automine is on.

        Anvil responds to a send, and mines a moment later.
        """
        result = super().__call__(method, *params)
        if method in _SENDS and super().__call__("anvil_getAutomine"):
            deadline = time.monotonic() + AUTOMINE_SECONDS
            while self._has_pending() and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
        return result

    @contextlib.contextmanager
    def isolated(self) -> Iterator[None]:
        """Bring the chain back at the end to where it is now."""
        fee = self("eth_feeHistory", "0x1", "latest", [])["baseFeePerGas"][-1]
        chain_id = int(self("eth_chainId"), 16)
        snapshot = self("evm_snapshot")
        try:
            yield
        finally:
            self("evm_setAutomine", True)
            assert self("evm_revert", snapshot) is True
            # A revert leaves these as they are.
            self("anvil_setNextBlockBaseFeePerGas", fee)
            self("anvil_setChainId", chain_id)

    def _has_pending(self) -> bool:
        pending: str = super().__call__("txpool_status")["pending"]
        return pending != "0x0"


class RestartableAnvil:
    """An anvil that saves its chain to a file while it is stopped."""

    def __init__(self, path: Path, port: int, *arguments: str) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._command = [
            *(str(find_anvil()), "--port", str(port), "--state", str(path / "anvil.json")),
            *("--silent", *arguments),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, env=tool_environment()
        )
        eventually(self._answers)

    def pause(self, seconds: float) -> None:
        """Let it respond to nothing for a while; its connections stay."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop it, once it has written its chain."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def _answers(self) -> bool:
        client = HttpRpcClient(self.url)
        try:
            return bool(client("eth_chainId"))
        except OSError:
            return False
        finally:
            client.close()


@contextlib.contextmanager
def free_port() -> Iterator[int]:
    """Yield a free port that no other process is given meanwhile, and that a server may listen on."""
    with socket.socket() as held:
        # With this option a bound port is free until a server listens on it.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextlib.contextmanager
def running_anvil(
    *arguments: str,
    port: int = 0,
    program: Sequence[str] | None = None,
    output: Path | None = None,
) -> Iterator[Anvil]:
    """Start anvil with `arguments`, on a free port by default, and stop it at the end whatever happens.

    `program` is started instead of anvil, as if it were one. What it prints goes to the file
    `output`, if one is given.
    """
    started = (str(find_anvil()),) if program is None else program
    command = [*started, "--host", "127.0.0.1", "--port", str(port), *arguments]
    with contextlib.ExitStack() as cleanup:
        # A file rather than a pipe, which would have to be read for anvil to go on.
        log = cleanup.enter_context(
            tempfile.TemporaryFile() if output is None else output.open("w+b")  # noqa: SIM115
        )
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=tool_environment(),
        )
        cleanup.callback(_stop, process)
        cleanup.enter_context(_killed_with_us(process))
        host, listening = _listening_address(process, log, port)
        anvil = Anvil(f"http://{host}:{listening}", process.pid)
        cleanup.callback(anvil.close)
        yield anvil


@contextlib.contextmanager
def fresh_anvil() -> Iterator[Anvil]:
    """Yield an anvil with a fresh chain: one for all tests of this process, which it is brought back for."""
    shared = _shared_anvil()
    with shared.isolated():
        yield shared


@functools.cache
def _shared_anvil() -> Anvil:
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(running_anvil())


def find_anvil() -> Path:
    """Return the anvil of `tests/package.json`, or one on the PATH where npm has none to offer."""
    return find_program("anvil")


def find_program(name: str) -> Path:
    machine = _MACHINES.get(platform.machine(), platform.machine())
    pinned = _PACKAGES / f"{name}-{platform.system().lower()}-{machine}" / "bin" / name
    if pinned.exists():
        return pinned
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"no {name} at {pinned} nor on the PATH; `make install` gets it")
    return Path(found)


def _listening_address(
    process: subprocess.Popen[bytes], log: IO[bytes], port: int
) -> tuple[str, int]:
    def output() -> str:
        # Anvil writes at the same file offset, so read without moving it.
        return os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace")

    def listening() -> tuple[str, int] | None:
        ended = process.poll() is not None
        if found := _LISTENING.search(output()):
            return found[1], int(found[2])
        if ended:
            raise RuntimeError(f"anvil did not start:\n{output()}")
        # One that is silent does not print it.
        return ("127.0.0.1", port) if port and _is_listening(port) else None

    return eventually(listening, output)


def _is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return False
    return True


@contextlib.contextmanager
def _killed_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill `process` even if this process is killed."""
    told = _guard()
    told.write(b"+ %d\n" % process.pid)
    try:
        yield
    finally:
        # At the very end the guard may be gone.
        with contextlib.suppress(OSError, ValueError):
            told.write(b"- %d\n" % process.pid)


@functools.cache
def _guard() -> IO[bytes]:
    """Start the shell that acts once our end of its pipe closes, and return that end; one serves all."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD],
        bufsize=0,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # Otherwise a Ctrl-C would end the guard before us.
        start_new_session=True,
    )
    atexit.register(guard.communicate)
    assert guard.stdin is not None
    return guard.stdin


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
