"""The workers of a producer: start them, replace those that end, and pass on what they have to know."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from entresol.background_task import cancel
from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.features.explorer.explorer_page import L1_PATH
from entresol.features.workers.channel import (
    CLUSTER,
    LAYER_TWO,
    REMOTE_L1,
    CallResponse,
    encode_page,
)
from entresol.features.workers.clients import NUMBER_BYTES
from entresol.features.workers.producer_role import ProducerRole
from entresol.features.workers.settings import WorkersConfig, worker_count
from entresol.features.workers.watchdog import CHECK_SECONDS, STARTING, STOPPED, Watchdog
from entresol.features.workers.worker_process import (
    WorkerCluster,
    WorkerLayer,
    WorkerProcess,
    WorkerStart,
)
from entresol.node.metrics import Sample
from entresol.server.handler import ClientConnection, LocalConnection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.node.chain_service import ChainService
    from entresol.node.feature import NodePlan
    from entresol.terminal.log import NodeLog

logger = logging.getLogger(__name__)

START_SECONDS: Final = 60.0
"""How long a start waits for its workers; one that takes longer is killed and replaced."""
STEADY_SECONDS: Final = 5.0
"""A worker that ran so long is replaced at once; others after a pause."""
MAX_PAUSE_SECONDS: Final = 10.0
STOP_SECONDS: Final = 2.0
"""How long a worker may take to end, besides the time that its server has for responses."""


class WorkerSupervisor:
    """Runs workers.

    Remembers: the processes. Assumes: one event loop, on the main thread. Fails: never; the node serves with the
    workers it has.
    """

    def __init__(
        self,
        node: NodePlan,
        log: NodeLog | None,
        cluster: WorkerCluster | None = None,
    ) -> None:
        """Take the node, whose chains are opened and served before the workers start."""
        self._node = node
        self._config = config = node.config
        self._cluster = cluster
        self._count = worker_count(config) - 1
        silence_seconds = config.of(WorkersConfig).worker_silence_seconds
        self._silence_seconds = silence_seconds
        self._watchdog: Watchdog[WorkerProcess] = Watchdog(silence_seconds, START_SECONDS)
        self._check: asyncio.TimerHandle | None = None
        self._log = log
        self._roles: list[ProducerRole] = []
        self._workers: dict[int, WorkerProcess] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self._restarts = 0
        self._hangs = 0
        self._all_ready = asyncio.Event()

    @classmethod
    def of(
        cls,
        node: NodePlan,
        log: NodeLog | None,
        cluster: WorkerCluster | None = None,
    ) -> Self | None:
        """Return the workers that the settings of a node request; None if one process serves alone."""
        return cls(node, log, cluster) if worker_count(node.config) > 1 else None

    def share(self, chain: Chain, fees: FeeModel | None = None) -> ProducerRole:
        """Return the role of the service of a chain, whose layer is the next one, with the prices of an L2."""
        role = ProducerRole(self, len(self._roles), chain, fees)
        self._roles.append(role)
        return role

    @property
    def problem(self) -> str | None:
        """How many workers do not serve, while they are started again; None if all do."""
        running = len(self.running())
        is_short = bool(self._tasks) and running < self._count
        return f"{running} of {self._count} workers serve requests" if is_short else None

    async def start(self) -> None:
        """Start the workers, and wait until they listen."""
        start = self.start_message()
        for index in range(self._count):
            template = msgspec.structs.replace(start, index=index)
            self._tasks.append(asyncio.create_task(self._supervise(template)))
        self._watch()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await self._all_ready.wait()
        if len(self.running()) < self._count:
            logger.warning("only %d of %d workers have started", len(self.running()), self._count)

    def start_message(self) -> WorkerStart:
        """Return what the first worker has to know; each service listens on its port already."""
        settled = self._node.chains[0].rollup
        return WorkerStart(
            index=0,
            config=self._config,
            layers=tuple(map(self._layer, range(len(self._roles)))),
            l1_chain_id=None if settled is None else settled.l1_chain_id,
            cluster=self._cluster,
        )

    def _layer(self, layer: int) -> WorkerLayer:
        service, page = self._service(layer), self._roles[layer].page
        path = str(service.chain.ledger.store.path)
        chain = service.api
        rollup = chain.rollup
        shipped = {
            name: value for feature in chain.features for name, value in feature.shipped().items()
        }
        return WorkerLayer(
            *(path, page.handle, service.port, shipped),
            contracts=None if rollup is None else rollup.contracts,
            base_token=base_token_of(service.chain.genesis.alloc),
            is_layer_one=chain.plan.is_beneath,
            extra_port=service.extra_port,
        )

    async def stop(self) -> None:
        """Let the workers finish their responses in time, and end them."""
        self._stopping.set()
        if self._check is not None:
            self._check.cancel()
        for worker in self._workers.values():
            worker.stop()
        seconds = self._config.server.stop_seconds + STOP_SECONDS
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        await cancel(*self._tasks)

    def processes(self) -> Iterable[WorkerProcess]:
        """Return the workers that were started last, also those that do not listen yet or any more."""
        return self._workers.values()

    def running(self) -> list[WorkerProcess]:
        """Return the workers that serve requests."""
        return [worker for worker in self.processes() if worker.is_running]

    def health(self) -> dict[str, Any]:
        """Return how many workers serve requests, how many should, and how many give no sign of life."""
        running, silent = len(self.running()), self._watchdog.silent
        return {"workers": {"running": running, "expected": self._count, "silent": silent}}

    def samples(self) -> list[Sample]:
        """Return the metrics of the workers themselves."""
        return [
            Sample("workers", "Workers that serve requests besides the producer.", len(self.running())),
            Sample("workers_silent", "Workers that give no sign of life.", self._watchdog.silent),
            Sample("worker_hangs_total", "Workers that were killed because they gave no sign of life.", self._hangs),
            Sample("worker_restarts_total", "Workers that ended and were replaced.", self._restarts),
        ]  # fmt: skip

    async def _supervise(self, start: WorkerStart) -> None:
        pause = 0.1
        while not self._stopping.is_set():
            worker = WorkerProcess(start, self)
            self._workers[start.index] = worker
            try:
                await worker.run()
            except Exception:
                logger.exception("worker %d could not be run", start.index)
            finally:
                for role in self._roles:
                    role.page.forget(start.index)
                    role.changed.notify()
            lived = time.monotonic() - worker.started_at
            pause = 0.1 if lived > STEADY_SECONDS else min(pause * 2, MAX_PAUSE_SECONDS)
            await self._pause(start.index, pause)

    async def _pause(self, index: int, seconds: float) -> None:
        if self._stopping.is_set():
            return
        self._restarts += 1
        logger.warning("worker %d has ended, and is replaced", index)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _watch(self) -> None:
        """Kill workers whose event loop stands still; they are replaced like those that end."""
        page = self._roles[LAYER_TWO].page
        # One that has ended is replaced by another process, which has its own time.
        heartbeats = {
            worker: page.heartbeats(worker.index) or (STOPPED if worker.is_stopped else STARTING)
            for worker in self._workers.values()
            if worker.is_alive
        }
        for worker in self._watchdog.check(heartbeats, time.monotonic()):
            self._hangs += 1
            logger.error(
                "worker %d has given no sign of life for %g seconds, and is killed",
                worker.index,
                self._silence_seconds if heartbeats[worker] else START_SECONDS,
            )
            worker.kill()
        self._check = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._watch)

    # Requests of workers

    def on_request(
        self, worker: WorkerProcess, layer: int, body: bytes, client: int
    ) -> CallResponse:
        """Respond to a request that a worker forwards for a client."""
        if layer == REMOTE_L1:
            return self._service(LAYER_TWO).routes(body, LocalConnection(L1_PATH))
        if layer == CLUSTER:
            return self._on_cluster_request(worker, body)
        return self._service(layer).unlogged(body, worker.forwarded.get(client))

    def _on_cluster_request(self, worker: WorkerProcess, body: bytes) -> CallResponse:
        number, body = int.from_bytes(body[:NUMBER_BYTES]), body[NUMBER_BYTES:]
        path, _, request = body.partition(b"\n")
        connection: ClientConnection = LocalConnection(path.decode())
        if number:
            connection = worker.clients.get(number, path.decode())
        return self._service(LAYER_TWO).handler(request, connection)

    def _service(self, layer: int) -> ChainService:
        service = self._roles[layer].service
        assert service is not None
        return service

    async def on_page(self, layer: int, path: str) -> bytes:
        """Return a page of the whole node."""
        return encode_page(await self._roles[layer].page_at(path))

    def on_drained(self, worker: WorkerProcess) -> None:
        """Replace a worker that did not read for a while, if it has subscribers: they have missed events."""
        if len(worker.clients) or any(role.page.wanted(worker.index) for role in self._roles):
            logger.warning("worker %d did not read for a while", worker.index)
            worker.stop()

    def on_wanted(self, layer: int) -> None:
        """Note that a worker has other subscribers."""
        self._roles[layer].changed.notify()

    def on_damage(self, layer: int, detail: str) -> None:
        """Note that a worker could not read something of a layer's store."""
        self._service(layer).chain.ledger.store.report_damage(detail)

    def on_ready(self) -> None:
        """Note that another worker listens."""
        if len(self.running()) == self._count:
            self._all_ready.set()

    def on_log(self, text: str, *, to_stderr: bool) -> None:
        """Write lines of a worker's log."""
        if self._log is not None:
            self._log.write(text, to_stderr=to_stderr)
