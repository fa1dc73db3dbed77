"""A producer's work for the workers of one layer: announcing the chain, passing events on, adding up metrics."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from entresol.features.workers.channel import WorkerMessage
from entresol.features.workers.publisher import StatePublisher, encode_pending, encode_reverted
from entresol.features.workers.state_page import StatePage, Wanted
from entresol.listeners import Listeners
from entresol.node.chain_service import ChainService, ServiceRole
from entresol.node.metrics import Sample, render
from entresol.server.handler import Handler, Page, PageResponse, completed
from entresol.server.pages import SharedPage
from entresol.server.server import PortSharing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol.chain.chain import Chain
    from entresol.chain.events import BlocksReverted
    from entresol.chain.fees import FeeModel
    from entresol.features.workers.worker_process import WorkerProcess
    from entresol.primitives.transactions import Transaction


def sum_metrics(texts: Iterable[str]) -> str:
    """Return the metrics of all `texts`, where equal names and labels are one sample with the sum of the values."""
    families: dict[str, list[str]] = {}
    samples: dict[str, dict[str, int | float]] = {}
    for text in texts:
        family = ""
        for line in text.splitlines():
            if line.startswith("# "):
                family = line.split(" ", 3)[2]
                comments = families.setdefault(family, [])
                if line not in comments:
                    comments.append(line)
                continue
            name, _, value = line.rpartition(" ")
            values = samples.setdefault(family, {})
            values[name] = values.get(name, 0) + (float(value) if "." in value else int(value))
    lines = [
        line
        for family, comments in families.items()
        for line in (
            *comments,
            *(f"{name} {_shown(value)}" for name, value in samples.get(family, {}).items()),
        )
    ]
    return "".join(line + "\n" for line in lines)


def _shown(value: int | float) -> str:  # noqa: PYI041 - they are shown differently
    return f"{value:.9f}" if isinstance(value, float) else str(value)


class Workers(Protocol):
    """The workers of a producer."""

    def processes(self) -> Iterable[WorkerProcess]:
        """Return the workers that were started last."""

    def running(self) -> list[WorkerProcess]:
        """Return the workers that serve requests."""

    def samples(self) -> list[Sample]:
        """Return the metrics of the workers themselves."""


class ProducerRole(ServiceRole):
    """The part of a producer's service for one layer in a node with workers."""

    sharing = PortSharing.FIRST

    def __init__(self, workers: Workers, layer: int, chain: Chain, fees: FeeModel | None) -> None:
        self.changed: Listeners[[]] = Listeners()
        """Notified when the workers have other subscribers."""
        self._workers = workers
        self._layer = layer
        self._chain = chain
        self.page = StatePage.create()
        self.publisher = StatePublisher(chain, self.page, self, fees)
        self.service: ChainService | None = None
        self._metrics = SharedPage(self._metrics_page)

    def close(self) -> None:
        """Release the page that workers have read."""
        self.page.close()

    def serving(self, handler: Handler) -> Handler:
        """Announce the state to workers before each response."""
        return self.publisher.serving(handler)

    def pages(self, service: ChainService) -> Mapping[str, Page]:
        """Return the metrics of all processes."""
        self.service = service
        return {"/metrics": self._metrics}

    async def page_at(self, path: str) -> PageResponse:
        """Return a page of the whole node, for a worker."""
        assert self.service is not None
        if path == "/metrics":
            return await completed(self._metrics())
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
        return [
            process
            for process in self._workers.processes()
            if wanted_by(process.index) & flag and process.is_running
        ]

    def _send(self, workers: list[WorkerProcess], message: WorkerMessage, payload: bytes) -> None:
        for worker in workers:
            worker.send(message, self._layer, payload)

    async def _metrics_page(self) -> PageResponse:
        service = self.service
        assert service is not None
        others = await asyncio.gather(
            *(worker.metrics(self._layer) for worker in self._workers.running())
        )
        text = sum_metrics([service.process_metrics(), *others])
        text = service.chain_metrics() + render(self._workers.samples()) + text
        return service.rendered_metrics(text)
