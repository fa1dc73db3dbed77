"""A chain on a server, with its log and its pages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.chain.rules import BLOB_TYPE
from entresol.errors import ListenFailed
from entresol.node.beacon_pages import BeaconPages
from entresol.node.metrics import (
    Sample,
    chain_samples,
    garbage_samples,
    labelled,
    memory_samples,
    render,
    request_memory,
    server_samples,
)
from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.server.handler import Handler, Page, PageResponse, PageTree, PathRouter
from entresol.server.pages import SharedPage, StaticFile
from entresol.server.server import PortSharing, Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from entresol.node.feature import ServedChain
    from entresol.terminal.log import ChainLog

JSON: Final = "application/json; charset=utf-8"
PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"


class ServiceHooks(msgspec.Struct, frozen=True, kw_only=True):
    """The additions of a node to the service of a chain."""

    health: Callable[[], dict[str, Any]] = dict
    """Returns more fields of `/health`."""
    problem: Callable[[], str | None] = lambda: None
    """Returns why the node is not healthy; None if it is."""
    degraded: Callable[[], str | None] = lambda: None
    """Returns why the node is slow or at risk, but serves; None if it is neither."""
    metrics: Callable[[], Iterable[Sample]] = tuple
    """Returns more metrics."""
    wrap: Callable[[Handler], Handler] = lambda handler: handler
    """Returns a handler around that of all requests."""


class ServiceRole:
    """The role of a service whose process serves its node alone; others share their port and their work."""

    sharing: PortSharing = PortSharing.NONE

    def serving(self, handler: Handler) -> Handler:
        """Return the handler of the service, around that of its methods."""
        return handler

    def pages(self, service: ChainService) -> Mapping[str, Page]:  # noqa: ARG002 - others need it
        """Return pages in place of those of a service alone."""
        return {}


class ChainService:
    """A part of a node: serves a chain over RPC.

    Remembers: nothing of its own. Persists: nothing; the chain does. Assumes: one event loop, whose thread
    alone changes the chain. Fails: to start, with the error that says why.
    """

    def __init__(
        self,
        served: ServedChain,
        *,
        hooks: ServiceHooks | None = None,
        role: ServiceRole | None = None,
        log: ChainLog | None = None,
    ) -> None:
        """Serve a chain where its plan says."""
        plan = served.plan
        self.api = served
        self.chain = chain = served.chain
        self._config = config = plan.server
        self._role = role = role or ServiceRole()
        self._hooks = hooks = hooks or ServiceHooks()
        self.handler: Handler = role.serving(served.dispatcher.handle)
        self.unlogged = hooks.wrap(self.handler)
        """The handler of requests that are not logged here."""
        if log is not None:
            self.handler = log.wrap(self.handler)
            log.follow(chain)
            served.on_logging_enabled.add(log.set_enabled)
            served.on_console.add(log.report_console)
        # Around the log: what nodes send each other is not JSON-RPC.
        self.handler = hooks.wrap(self.handler)
        self._on_rejection = None if log is None else log.on_rejection()
        self.routes = PathRouter(self.handler)
        self._added = [feature.pages(served) for feature in served.features]
        self.pages: dict[str, Page] = {**self._pages(), **role.pages(self)}
        """The pages it serves by `GET`, by path."""
        self._server = Server(
            self._served,
            JSON_RPC,
            config,
            self.pages,
            self._on_rejection,
            files=self._files,
            trees=self._trees(),
            sharing=role.sharing,
            extra_port=plan.extra_port,
        )
        self._predecessor: ChainService | None = None
        self._has_server = True

    @property
    def address(self) -> str:
        """The host and port it listens on."""
        return self._address(self.port)

    @property
    def extra_address(self) -> str | None:
        """The host and port at which the chain is served, too."""
        return None if self.extra_port is None else self._address(self.extra_port)

    @property
    def extra_port(self) -> int | None:
        """The other port it listens on, if there is one."""
        return self._server.extra_port

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._server.port

    @property
    def problem(self) -> str | None:
        """Why the chain cannot be read or written; None if it can."""
        return None if self.chain.failure is None else str(self.chain.failure)

    async def bind(self) -> None:
        """Take the port, on which nothing is served before the start."""
        await self._server.bind()

    def continue_at(self, predecessor: ChainService) -> None:
        """Serve at the ports of another service, which listens there already, once this takes over."""
        self._predecessor = predecessor
        self._server = predecessor._server
        self._has_server = False

    def take_over(self) -> None:
        """Serve in place of the predecessor from the next request on; it serves nothing any more."""
        assert self._predecessor is not None
        self._server.state.serve(
            self._served,
            self.pages,
            self._on_rejection,
            files=self._files,
            trees=self._trees(),
        )
        self._predecessor.hand_over()
        self._has_server, self._predecessor = True, None

    def hand_over(self) -> None:
        """Leave the server to another service."""
        self._has_server = False

    async def start(self) -> None:
        """Listen."""
        if not self._has_server:
            return
        try:
            await self._server.start()
        except ListenFailed as error:
            is_l1 = self.api.plan.is_beneath
            raise error.of_layer_one() if is_l1 else error from error.__cause__

    async def stop(self) -> None:
        """Let requests in progress finish, and stop listening, unless another service continues at the port."""
        if self._has_server:
            await self._server.stop()
        await self.api.services.end_calls()

    @property
    def _served(self) -> Handler:
        return self.routes if any(pages.has_routes for pages in self._added) else self.handler

    def _address(self, port: int) -> str:
        host = self._config.hosts[0]
        shown = f"[{host}]" if ":" in host else host
        return f"{shown}:{port}"

    def _files(self) -> Mapping[str, StaticFile]:
        return {path: file for pages in self._added for path, file in pages.files().items()}

    def _pages(self) -> dict[str, Page]:
        dispatcher = self.api.dispatcher
        return {
            **{path: page for pages in self._added for path, page in pages.pages.items()},
            "/health": self.health_page,
            "/metrics": SharedPage(self._metrics_page),
            "/openrpc.json": lambda: (200, JSON, json.dumps(dispatcher.openrpc()).encode()),
        }

    def _trees(self) -> dict[str, PageTree]:
        accepts_blobs = BLOB_TYPE in self.chain.rules.accepted_types
        return BeaconPages(self.chain, self.unlogged).trees() if accepts_blobs else {}

    def health_page(self) -> PageResponse:
        """Return the page `/health`."""
        failure = self.chain.failure or self._hooks.problem()
        if failure is None:
            degraded = self._hooks.degraded()
            status = (
                {"status": "ready"}
                if degraded is None
                else {"status": "degraded", "reason": degraded}
            )
            return 200, JSON, json.dumps({**status, **self._health()}).encode()
        failing = {"status": "failing", "reason": str(failure), **self._health()}
        return 503, JSON, json.dumps(failing).encode()

    def _health(self) -> dict[str, Any]:
        ports = {} if self.extra_port is None else {"ports": [self.port, self.extra_port]}
        features = (feature.health() for feature in self.api.features)
        added = {name: value for fields in features for name, value in fields.items()}
        return {**ports, **self._hooks.health(), **added}

    def _metrics_page(self) -> PageResponse:
        return self.rendered_metrics(self.chain_metrics() + self.process_metrics())

    def rendered_metrics(self, text: str) -> PageResponse:
        """Return the page `/metrics` with these samples."""
        return 200, PROMETHEUS, labelled(text, self.api.plan.name).encode()

    def chain_metrics(self) -> str:
        """Return the metrics of the chain and its settlement."""
        added = (sample for feature in self.api.features for sample in feature.metrics())
        return render((*chain_samples(self.chain), *self._hooks.metrics(), *added))

    def process_metrics(self) -> str:
        """Return the metrics of this process: its memory, its server, its calls."""
        server = self._server.state
        samples = (
            *memory_samples((*self.api.memory(), *request_memory(server.request_bytes))),
            *server_samples(server.counters, server.unsent, server.request_bytes),
            *garbage_samples(),
        )
        return render(samples) + self.api.dispatcher.render_metrics()
