"""The process of a worker: serve the ports of a node from the blocks that its producer seals."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
from typing import Final

import uvloop

from entresol._native import return_large_blocks
from entresol.features.workers.channel import CallResponse, Channel, WorkerCall, WorkerMessage
from entresol.features.workers.worker_node import WorkerNode, worker
from entresol.features.workers.worker_process import WorkerStart, WorkerWriter, decode_start
from entresol.node.startup.process_start import collect_less
from entresol.server.limits import allow_open_files
from entresol.terminal.log import NodeLog

logger = logging.getLogger(__name__)

SWITCH_SECONDS: Final = 1e-3
_PR_SET_PDEATHSIG: Final = 1


class WorkerPeer:
    """Acts on the messages that a worker gets from its producer."""

    def __init__(self) -> None:
        self._start: asyncio.Future[WorkerStart] = asyncio.get_running_loop().create_future()
        self._stopped = asyncio.Event()
        self._worker: WorkerNode | None = None

    async def run(self, end: socket.socket) -> None:
        """Serve until the producer ends or stops this process."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopped.set)
        channel = await Channel.open(end, self, on_bug=_report)
        start = await self._start
        allow_open_files(start.config.server.connection_limit)
        log = NodeLog.to_writer(start.config.log, WorkerWriter(channel, loop))
        self._worker = worker(start, channel, log)
        node = self._worker.node
        try:
            await node.start()
            collect_less()
            channel.send(bytes([WorkerMessage.READY, 0]))
            await self._stopped.wait()
        finally:
            await node.stop()
            log.close()

    def on_client(self, client: int, address: str) -> None:
        """Do nothing: a producer has no clients here."""

    def on_gone(self, client: int) -> None:
        """Do nothing: a producer has no clients here."""

    def on_call(self, payload: bytes, client: int) -> CallResponse:  # noqa: ARG002 - the interface has it
        """Return the metrics of this process."""
        kind, layer = WorkerCall(payload[0]), payload[1]
        assert kind is WorkerCall.METRICS
        assert self._worker is not None
        return self._worker.node.services[layer].process_metrics().encode()

    def on_message(self, payload: bytes) -> None:
        """Start, stop, or publish what happened on a chain."""
        kind, layer, body = WorkerMessage(payload[0]), payload[1], payload[2:]
        match kind:
            case WorkerMessage.START:
                self._start.set_result(decode_start(body))
            case WorkerMessage.STOP:
                self._stopped.set()
            case WorkerMessage.SEALED if self._worker is not None:
                self._worker.roles[layer].shipped.on_sealed(body)
            case WorkerMessage.REVERTED if self._worker is not None:
                self._worker.roles[layer].shipped.on_reverted(body)
            case WorkerMessage.TRANSACTION if self._worker is not None:
                self._worker.roles[layer].shipped.on_transaction(body)
            case WorkerMessage.PUSH if self._worker and self._worker.cluster:
                self._worker.cluster.push(body)

    def on_drained(self) -> None:
        """Do nothing: only lines of the log were dropped."""

    def on_close(self) -> None:
        """End with the producer."""
        if not self._stopped.is_set():
            os._exit(1)


def main() -> None:
    """Run a worker whose producer has the other end of the socket that the argument names."""
    # The terminal's interrupt is the producer's to act on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    return_large_blocks()
    sys.setswitchinterval(SWITCH_SECONDS)
    end = socket.socket(fileno=int(sys.argv[1]))
    end.setblocking(False)  # noqa: FBT003 - the interface has it
    uvloop.run(_run(end))
    # A call may still run on a thread; its client is disconnected.
    os._exit(0)


async def _run(end: socket.socket) -> None:
    await WorkerPeer().run(end)


def _end_with_parent() -> None:
    """Have the system end this process with the producer, even while it is stopped."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _report(error: BaseException) -> None:
    logger.error("a call of the producer failed", exc_info=error)
