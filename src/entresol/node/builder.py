"""Build a node: what every recipe does with what it opens, serves and adds."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from entresol.features.debugger.settings import DebuggerConfig
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.node.api.api import Api
from entresol.node.chain_service import ChainService, ServiceHooks, ServiceRole
from entresol.node.dev_features import serves_dev_methods
from entresol.node.node import Node
from entresol.node.parts.part import Part, first_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.keyring import Keyring
    from entresol.features.adding.methods import ChainControl
    from entresol.features.dev.control import DevControl
    from entresol.features.explorer.explorer_page import ExplorerPage
    from entresol.features.fork.past.remote import PastChain
    from entresol.features.workers.publisher import ShippedEvents
    from entresol.node.api.dialect import Dialect
    from entresol.node.config.schema import NodeConfig
    from entresol.node.settlement.l2_components import L2Components
    from entresol.node.settlement.rollup import Rollup
    from entresol.node.startup.info import NodeInfo
    from entresol.primitives.values import Address
    from entresol.rpc.jsonrpc.forwarding import Router
    from entresol.rpc.types.fork_target import ForkControl
    from entresol.sequencer.sequencer import Sequencer
    from entresol.server.config import ServerConfig
    from entresol.terminal.log import NodeLog


class Closable(Protocol):
    """A resource that has to be closed."""

    def close(self) -> None:
        """Close it."""


Opened = TypeVar("Opened", bound=Closable)


class NodeBuilder:
    """Collects the parts of a node, in the order in which they start.

    Remembers: what was opened. Fails: as what it makes does; a recipe that ends without a node, by whatever error,
    leaves nothing open.
    """

    def __init__(self, config: NodeConfig, log: NodeLog | None = None) -> None:
        self.config = config
        self.sources = SourceRegistry.of_paths(config.of(DebuggerConfig).sources)
        """The contracts whose source is known, on all chains."""
        self._log = log
        self._opened = contextlib.ExitStack()
        self._parts: list[Part] = []
        self._of_chains: dict[str, list[Part]] = {}

    def extension(self) -> NodeBuilder:
        """Return a builder of more parts for the node that this one has built, whose health has them, too."""
        builder = NodeBuilder(self.config, self._log)
        builder._parts, builder._of_chains = self._parts, self._of_chains
        builder.sources = self.sources
        return builder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def opened(self, what: Opened) -> Opened:
        """Have something closed after all parts have stopped, what was opened last first."""
        self._opened.callback(what.close)
        return what

    def add(self, *parts: Part | None, chain: str = "") -> None:
        """Add parts, which start after those before them; None is a part that this node does not have.

        `chain` is the name of the one of several chains that they belong to.
        """
        added = [part for part in parts if part is not None]
        self._parts += added
        if chain:
            self._of_chains.setdefault(chain, []).extend(added)

    def name(self, chain: str, *parts: Part | None) -> None:
        """Name the chain that parts belong to, which was the only one when they were added."""
        self._of_chains.setdefault(chain, [part for part in parts if part is not None])

    def taken(self) -> contextlib.ExitStack:
        """Return what was opened, which the caller closes from now on."""
        return self._opened.pop_all()

    def add_each(self, parts: Iterable[Part | None], chains: Iterable[str]) -> None:
        """Add a part of each of several chains."""
        for part, chain in zip(parts, chains, strict=True):
            self.add(part, chain=chain)

    def problem(self) -> str | None:
        """Return what fails and is tried again, of all parts, with the name of its chain if there are several."""
        named = (
            f"chain {name}: {problem}"
            for name, problem in self.chain_problems().items()
            if problem is not None
        )
        return next(named, None) or first_problem(self._parts)

    def chain_problems(self) -> dict[str, str | None]:
        """Return what fails and is tried again of each of several chains, by their names."""
        return {name: first_problem(parts) for name, parts in self._of_chains.items()}

    def api(  # noqa: PLR0913 - what differs between chains
        self,
        chain: Chain,
        sequencer: Sequencer,
        *,
        keyring: Keyring,
        control: DevControl | None = None,
        layer_two: L2Components | None = None,
        router: Router | None = None,
        notified: ShippedEvents | None = None,
        dialect: Dialect | None = None,
        chains: ChainControl | None = None,
        forks: ForkControl | None = None,
        remote: PastChain | None = None,
    ) -> Api:
        """Return the methods of a chain, as the configuration has them; a fork has its past on a `remote`."""
        config = self.config
        api = Api(
            chain,
            sequencer,
            keyring=keyring,
            config=config.api,
            dev_methods=serves_dev_methods(config),
            limits=config.limits,
            control=control,
            layer_two=layer_two,
            router=router,
            notified=notified,
            dialect=dialect,
            chains=chains,
            forks=forks,
            remote=remote,
            sources=self.sources,
        )
        return self.opened(api)

    def serve(  # noqa: PLR0913 - what differs between chains
        self,
        api: Api,
        server: ServerConfig | None = None,
        *,
        layer: str = "",
        hidden: Sequence[Address] = (),
        logs_transactions: bool = True,
        hooks: ServiceHooks | None = None,
        explorer: ExplorerPage | None = None,
        role: ServiceRole | None = None,
        is_layer_one: bool = False,
        extra_port: int | None = None,
    ) -> ChainService:
        """Return the service of an API, with lines of `layer` in the log, but not of the senders `hidden`."""
        log = None
        if self._log is not None:
            is_public = not serves_dev_methods(self.config)
            log = self._log.for_chain(
                layer,
                hidden,
                is_public=is_public,
                has_transactions=logs_transactions,
                sources=self.sources,
            )
            # Before the API is closed, whose events it follows.
            self._opened.callback(log.unfollow)
        return ChainService(
            api,
            server or self.config.server,
            log=log,
            hooks=hooks,
            explorer=explorer,
            role=role,
            is_layer_one=is_layer_one,
            extra_port=extra_port,
        )

    def build(
        self,
        layer_twos: Sequence[ChainService],
        *,
        info: Callable[[], NodeInfo],
        rollups: Sequence[Rollup] = (),
        layer_one: ChainService | None = None,
    ) -> Node:
        """Return the node, which closes what was opened from now on."""
        parts = tuple(self._parts)
        return Node(self.taken(), parts, layer_twos, info, rollups, layer_one)
