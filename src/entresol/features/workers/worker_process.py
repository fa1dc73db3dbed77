"""One worker, as its producer sees it: the process, and the socket to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from entresol.features.workers.channel import CallResponse, Channel, WorkerCall, WorkerMessage
from entresol.features.workers.clients import NUMBER_BYTES, ForwardedClients, RemoteClients
from entresol.node.config.secrets import without_secrets
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from entresol.l1.deployment import SettlementContracts
    from entresol.node.config.schema import NodeConfig
    from entresol.terminal.writer import FormatText


logger = logging.getLogger(__name__)

MODULE: Final = "entresol.features.workers"
STOP_SECONDS: Final = 5.0
"""How long a process may take to end after it has closed its socket."""

METRICS_SECONDS: Final = 1.0
MAX_UNSENT_BYTES: Final = 1 << 20
"""Lines are dropped while the producer has not taken so many bytes."""


class WorkerLayer(msgspec.Struct, frozen=True):
    """A chain that workers serve."""

    path: str
    """The data directory of the producer's chain."""
    page: int
    """The file descriptor of its state page."""
    port: int
    shipped: dict[str, Any]
    """The values that features send, by their names."""
    contracts: SettlementContracts | None = None
    """The contracts of an L2 on its L1, if it has one."""
    base_token: BaseToken = ETHER_TOKEN
    """The token that pays for gas on an L2, without its price, which the producer sends."""
    is_layer_one: bool = False
    extra_port: int | None = None


class WorkerCluster(msgspec.Struct, frozen=True):
    """The cluster of a node, as far as a worker knows it."""

    genesis: bytes
    """The genesis as geth's JSON."""
    path: str
    """The prefix of the path of a request that another node has forwarded."""


class WorkerStart(msgspec.Struct, frozen=True, kw_only=True):
    """The layers and settings of a worker."""

    index: int
    config: NodeConfig
    layers: tuple[WorkerLayer, ...]
    l1_chain_id: int | None
    cluster: WorkerCluster | None = None
    """The cluster that the node is in."""

    def encode(self) -> bytes:
        """Return the bytes that `decode_start` reads; without secrets, which no worker needs."""
        return pickle.dumps(msgspec.structs.replace(self, config=without_secrets(self.config)))


def decode_start(payload: bytes) -> WorkerStart:
    """Return what the producer, which started this process, has sent over their socket."""
    start = pickle.loads(payload)  # noqa: S301 - nobody else has the other end of the socket
    assert isinstance(start, WorkerStart)
    return start


class WorkerHost(Protocol):
    """The services of a producer for its workers."""

    def on_request(
        self, worker: WorkerProcess, layer: int, body: bytes, client: int
    ) -> CallResponse:
        """Respond to a request that a worker forwards for a client."""

    async def on_page(self, layer: int, path: str) -> bytes:
        """Return a page of the whole node."""

    def on_ready(self) -> None:
        """Note that the worker listens."""

    def on_wanted(self, layer: int) -> None:
        """Note that the worker has other subscribers."""

    def on_damage(self, layer: int, detail: str) -> None:
        """Note that the worker could not read something of a layer's store."""

    def on_log(self, text: str, *, to_stderr: bool) -> None:
        """Write lines of a worker's log."""

    def on_drained(self, worker: WorkerProcess) -> None:
        """Act on a worker that did not read for a while, and has missed messages."""


class WorkerProcess:
    """A process that serves the node's ports, until it ends or is stopped.

    Remembers: the process. Assumes: it is started on the main thread, with whose end the system ends the process.
    Fails: never; a process that does not start has ended.
    """

    def __init__(self, start: WorkerStart, host: WorkerHost) -> None:
        self.index = start.index
        self._start = start
        self._host = host
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._ended = asyncio.Event()
        self.is_ready = False
        """Whether it has listened."""
        self.started_at = 0.0
        self.clients = RemoteClients(self._push)
        """Clients that the producer pushes documents to."""
        self.forwarded = ForwardedClients()
        """Clients whose requests it forwards."""

    @property
    def is_alive(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and not self._ended.is_set()

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped the process, so that it does not even start."""
        if self._process is None:
            return False
        flags = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, flags) is not None
        except ChildProcessError:
            return False

    @property
    def is_running(self) -> bool:
        """Whether it serves requests."""
        return self.is_ready and not self._ended.is_set()

    async def run(self) -> None:
        """Run the process until it ends."""
        ours, theirs = socket.socketpair()
        self.started_at = time.monotonic()
        inherited: Sequence[int] = (theirs.fileno(), *(layer.page for layer in self._start.layers))
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module, by vfork
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=inherited,
            )
            ours.setblocking(False)  # noqa: FBT003 - the interface has it
            self._channel = await Channel.open(ours, self, on_bug=_report)
            self._channel.send(bytes([WorkerMessage.START, 0]) + self._start.encode())
        except OSError as error:
            logger.error("a worker could not be started: %s", error)  # noqa: TRY400  # known
            ours.close()
            return
        finally:
            theirs.close()
        try:
            await self._ended.wait()
        finally:
            self._channel.close()
            await self._reap()

    def send(self, message: WorkerMessage, layer: int, payload: bytes = b"") -> None:
        """Send a message, if the process runs and reads."""
        if self.is_running and self._channel is not None:
            self._channel.send(bytes([message, layer]) + payload)

    async def metrics(self, layer: int) -> str:
        """Return the metrics of the process; nothing if it does not respond."""
        if not self.is_running or self._channel is None:
            return ""
        with contextlib.suppress(Exception):
            response = await self._channel.call(bytes([WorkerCall.METRICS, layer]), METRICS_SECONDS)
            return (response or b"").decode()
        return ""

    def stop(self) -> None:
        """Signal the process to finish its responses, and to end."""
        if self._channel is not None:
            self._channel.send(bytes([WorkerMessage.STOP, 0]))

    def kill(self) -> None:
        """End the process, which may not be able to do so itself."""
        if self._process is not None:
            self._process.kill()

    def _push(self, number: int, document: bytes) -> bool:
        self.send(WorkerMessage.PUSH, 0, number.to_bytes(NUMBER_BYTES) + document)
        return self.is_running

    async def _reap(self) -> None:
        process = self._process
        assert process is not None
        try:
            await asyncio.to_thread(process.wait, STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)
        except asyncio.CancelledError:
            process.kill()
            process.wait()
            raise

    # What the worker sends

    def on_call(self, payload: bytes, client: int) -> CallResponse:
        """Respond to the worker."""
        kind, layer, body = WorkerCall(payload[0]), payload[1], payload[2:]
        if kind is WorkerCall.REQUEST:
            return self._host.on_request(self, layer, body, client)
        return self._host.on_page(layer, body.decode())

    def on_client(self, client: int, address: str) -> None:
        """Note where a client comes from, whose turns are those of its address."""
        self.forwarded.begin(client, address)

    def on_gone(self, client: int) -> None:
        """Note the end of a client."""
        self.forwarded.close(client)

    def on_message(self, payload: bytes) -> None:
        """Note what it reports, or write its log."""
        kind = WorkerMessage(payload[0])
        if kind is WorkerMessage.READY:
            self.is_ready = True
            self._host.on_ready()
        elif kind is WorkerMessage.WANTED:
            self._host.on_wanted(payload[1])
        elif kind is WorkerMessage.DAMAGED:
            self._host.on_damage(payload[1], payload[2:].decode())
        elif kind is WorkerMessage.CLIENT_GONE:
            self.clients.close(int.from_bytes(payload[2:]))
        elif kind is WorkerMessage.LOG:
            self._host.on_log(payload[2:].decode(), to_stderr=bool(payload[1]))

    def on_close(self) -> None:
        """Note its end."""
        self._ended.set()
        self.clients.close_all()
        self.forwarded.close_all()

    def on_drained(self) -> None:
        """Note that it has missed messages."""
        self._host.on_drained(self)


def _report(error: BaseException) -> None:
    logger.error("a request of a worker failed", exc_info=error)


class WorkerWriter:
    """Sends lines to the producer, from any thread.

    Assumes: the event loop runs until `close`. Fails: never; lines are dropped.
    """

    def __init__(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._loop = loop
        self._thread = threading.get_ident()
        self._is_closed = False

    def write(self, text: str, *, to_stderr: bool = False) -> None:
        """Send `text`."""
        payload = bytes([WorkerMessage.LOG, to_stderr]) + text.encode(errors="replace")
        if threading.get_ident() == self._thread:
            self._send(payload)
        elif not self._is_closed:
            self._loop.call_soon_threadsafe(self._send, payload)

    def write_later(self, format_text: FormatText, size: int) -> None:  # noqa: ARG002  # sent at once
        """Send what `format_text` returns."""
        text = format_text()
        if text is not None:
            self.write(text)

    def close(self) -> None:
        """Send nothing more."""
        self._is_closed = True

    def _send(self, payload: bytes) -> None:
        if not self._is_closed and self._channel.unsent_bytes < MAX_UNSENT_BYTES:
            self._channel.send(payload)
