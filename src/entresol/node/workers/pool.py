"""The workers of a producer: start them, replace those that end, and pass on what they have to know."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.node.chain_service import PROMETHEUS, ServiceRole
from entresol.node.explorer.explorer_page import L1_PATH
from entresol.node.metrics import Sample, render
from entresol.node.workers.messages import (
    CLUSTER,
    LAYER_TWO,
    REMOTE_L1,
    WorkerCluster,
    WorkerLayer,
    WorkerMessage,
    WorkerStart,
    encode_page,
)
from entresol.node.workers.metrics_sum import sum_metrics
from entresol.node.workers.worker_process import WorkerProcess
from entresol.replica.publisher import StatePublisher
from entresol.replica.shipped_events import encode_pending, encode_reverted
from entresol.replica.state_page import StatePage, Wanted
from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.server.server import PortSharing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.events import BlocksReverted
    from entresol.node.chain_service import ChainService
    from entresol.node.config.schema import NodeConfig
    from entresol.node.log.log import NodeLog
    from entresol.node.settlement.l2_components import RollupParts, SettledView
    from entresol.primitives.transactions import Transaction
    from entresol.replica.channel import Answer
    from entresol.server.handler import Handler, Page, PageResponse

logger = logging.getLogger(__name__)

START_SECONDS: Final = 60.0
"""How long a start waits for its workers; the node serves without those that take longer."""
STEADY_SECONDS: Final = 5.0
"""A worker that ran so long is replaced at once; others after a pause."""
MAX_PAUSE_SECONDS: Final = 10.0
STOP_SECONDS: Final = 2.0
"""How long a worker may take to end, besides the time that its server has for responses."""


class ProducerRole(ServiceRole):
    """The part of a producer's service for one layer in a node with workers."""

    sharing = PortSharing.FIRST

    def __init__(
        self,
        pool: WorkerPool,
        layer: int,
        chain: Chain,
        l1_gas_price: Callable[[], int] | None,
        *,
        seals: bool = True,
    ) -> None:
        self.seals = seals
        self.on_wanted: Callable[[], None] = lambda: None
        """Called when the workers have other subscribers."""
        self._pool = pool
        self._layer = layer
        self._chain = chain
        self.page = StatePage.create()
        self.publisher = StatePublisher(chain, self.page, self, l1_gas_price)
        self.service: ChainService | None = None
        self._pages: dict[str, Page] = {}

    def serving(self, handler: Handler) -> Handler:
        """Announce the state to workers before each response."""
        return self.publisher.serving(handler)

    def pages(self, service: ChainService) -> Mapping[str, Page]:
        """Return the metrics of all processes."""
        self.service = service
        return {"/metrics": self._metrics_page}

    async def page_at(self, path: str) -> PageResponse:
        """Return a page of the whole node, for a worker."""
        assert self.service is not None
        if path == "/metrics":
            return await self._metrics_page()
        return self.service.health_page()

    def on_sealed(self, number: int) -> None:
        """Pass a new block to the workers that have subscribers."""
        workers = self._wanting(Wanted.BLOCKS)
        if workers:
            record = self._chain.ledger.store.encoded_record(number)
            self._send(workers, WorkerMessage.SEALED, record)

    def on_reverted(self, event: BlocksReverted) -> None:
        """Pass a revert to the workers that have subscribers."""
        workers = self._wanting(Wanted.BLOCKS)
        if workers:
            self._send(workers, WorkerMessage.REVERTED, encode_reverted(event))

    def on_transaction(self, transaction: Transaction) -> None:
        """Pass a pending transaction to the workers that have subscribers for it."""
        workers = self._wanting(Wanted.TRANSACTIONS)
        if workers:
            self._send(workers, WorkerMessage.TRANSACTION, encode_pending(transaction))

    @property
    def wants_transactions(self) -> bool:
        """Whether workers have subscribers of pending transactions."""
        return bool(self._wanting(Wanted.TRANSACTIONS))

    def _wanting(self, wanted: Wanted) -> list[WorkerProcess]:
        # At each block and transaction: operators of flags, or a list of all workers, would take longer than the rest.
        wanted_by, flag = self.page.wanted, int(wanted)
        return [it for it in self._pool.processes() if wanted_by(it.index) & flag and it.is_running]

    def _send(self, workers: list[WorkerProcess], message: WorkerMessage, payload: bytes) -> None:
        for worker in workers:
            worker.send(message, self._layer, payload)

    async def _metrics_page(self) -> PageResponse:
        service = self.service
        assert service is not None
        others = await asyncio.gather(*(it.metrics(self._layer) for it in self._pool.running()))
        text = sum_metrics([service.process_metrics(), *others])
        text = service.chain_metrics() + render(self._pool.samples()) + text
        return 200, PROMETHEUS, text.encode()


class WorkerPool:
    """Runs workers.

    Remembers: the processes. Persists: nothing. Assumes: one event loop, on the main thread. Fails: never; the node
    serves with the workers it has.
    """

    def __init__(self, count: int, log: NodeLog | None) -> None:
        self._count = count
        self._log = log
        self._roles: list[ProducerRole] = []
        self._workers: dict[int, WorkerProcess] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self._restarts = 0
        self._all_ready = asyncio.Event()

    def share(
        self,
        chain: Chain,
        l1_gas_price: Callable[[], int] | None = None,
        *,
        seals: bool = True,
    ) -> ProducerRole:
        """Return the role of the service of a chain, whose layer is the next one."""
        role = ProducerRole(self, len(self._roles), chain, l1_gas_price, seals=seals)
        self._roles.append(role)
        return role

    async def start(
        self,
        config: NodeConfig,
        services: Sequence[ChainService],
        rollup: RollupParts | SettledView | None,
        cluster: WorkerCluster | None = None,
    ) -> None:
        """Start the workers, and wait until they listen."""
        layers = (
            WorkerLayer(
                str(service.chain.ledger.store.path),
                role.page.handle,
                service.port,
                service.explorer,
            )
            for service, role in zip(services, self._roles, strict=True)
        )
        start = WorkerStart(
            index=0,
            config=config,
            layers=tuple(layers),
            l1_chain_id=None if rollup is None else rollup.l1_chain_id,
            contracts=None if rollup is None else rollup.contracts,
            cluster=cluster,
        )
        for index in range(self._count):
            template = msgspec.structs.replace(start, index=index)
            self._tasks.append(asyncio.create_task(self._keep_running(template)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await self._all_ready.wait()
        if len(self.running()) < self._count:
            logger.warning("only %d of %d workers have started", len(self.running()), self._count)

    async def stop(self, seconds: float) -> None:
        """Let the workers finish their responses in time, and end them."""
        self._stopping.set()
        for worker in self._workers.values():
            worker.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds + STOP_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def processes(self) -> Iterable[WorkerProcess]:
        """Return the workers that were started last, also those that do not listen yet or any more."""
        return self._workers.values()

    def running(self) -> list[WorkerProcess]:
        """Return the workers that serve requests."""
        return [worker for worker in self.processes() if worker.is_running]

    def health(self) -> dict[str, Any]:
        """Return how many workers serve requests, and how many should."""
        return {"workers": {"running": len(self.running()), "expected": self._count}}

    def samples(self) -> list[Sample]:
        """Return the metrics of the workers themselves."""
        return [
            Sample("workers", "Workers that serve requests besides the producer.", len(self.running())),
            Sample("worker_restarts_total", "Workers that ended and were replaced.", self._restarts, "counter"),
        ]  # fmt: skip

    async def _keep_running(self, start: WorkerStart) -> None:
        pause = 0.1
        while not self._stopping.is_set():
            worker = WorkerProcess(start, self)
            self._workers[start.index] = worker
            try:
                await worker.run()
            finally:
                for role in self._roles:
                    role.page.want(start.index, Wanted(0))
                    role.on_wanted()
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

    # What workers ask for

    def on_request(self, layer: int, body: bytes) -> Answer:
        """Respond to a request that a worker forwards."""
        if layer == REMOTE_L1:
            return self._service(LAYER_TWO).routes(body, LocalConnection(L1_PATH))
        if layer == CLUSTER:
            path, _, request = body.partition(b"\n")
            return self._service(LAYER_TWO).handler(request, LocalConnection(path.decode()))
        return self._service(layer).unlogged(body, LocalConnection())

    def _service(self, layer: int) -> ChainService:
        service = self._roles[layer].service
        assert service is not None
        return service

    async def on_page(self, layer: int, path: str) -> bytes:
        """Return a page of the whole node."""
        return encode_page(await self._roles[layer].page_at(path))

    def on_drained(self, worker: WorkerProcess) -> None:
        """Replace a worker that did not read for a while, if it has subscribers: they have missed events."""
        if any(role.page.wanted(worker.index) for role in self._roles):
            logger.warning("worker %d did not read for a while", worker.index)
            worker.stop()

    def on_wanted(self, layer: int) -> None:
        """Note that a worker has other subscribers."""
        self._roles[layer].on_wanted()

    def on_ready(self) -> None:
        """Note that another worker listens."""
        if len(self.running()) == self._count:
            self._all_ready.set()

    def on_log(self, text: str, *, to_stderr: bool) -> None:
        """Write lines of a worker's log."""
        if self._log is not None:
            self._log.write_line(text, to_stderr=to_stderr)
