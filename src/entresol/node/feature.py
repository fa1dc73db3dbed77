"""The seam: what a feature adds to a node and to its chains, and what of them it may touch."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

import msgspec

from entresol.cache_limits import CACHES
from entresol.listeners import Listeners
from entresol.node.api.adapters import request_limits
from entresol.node.api.ethereum import ethereum_namespaces
from entresol.node.api.services import ApiServices
from entresol.node.metrics import MemoryUse
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.jsonrpc.native_methods import NativeReads
from entresol.rpc.namespaces.net_web3 import RpcModules
from entresol.rpc.pubsub.event_log import MAX_EVENT_BYTES
from entresol.rpc.services.native_reads import new_account_reads, new_bridge_estimates
from entresol.server.pages import no_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from entresol.execution.console import ConsoleCalls
    from entresol.node.chain_plan import ChainPlan, OpenChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.metrics import Sample
    from entresol.node.parts.part import Part
    from entresol.primitives.batches import Batch
    from entresol.rpc.jsonrpc.method import Namespace
    from entresol.rpc.jsonrpc.served_method import Method
    from entresol.server.handler import Handler, Page, PathRouter
    from entresol.server.pages import StaticFile
    from entresol.storage.block_index import BlockIndex
    from entresol.terminal.explainer import Explainer

T = TypeVar("T")


class Phase(IntEnum):
    """When a part of a feature starts; parts stop in reverse."""

    BEFORE_BLOCKS = 0
    """Before the sequencers, so that it stops last."""
    SERVED = 1
    """Once the services listen, before the rollups."""
    LAST = 2


class Pages(msgspec.Struct, frozen=True, kw_only=True):
    """The pages that a feature adds to a chain's server."""

    pages: Mapping[str, Page] = {}
    """By path."""
    files: Callable[[], Mapping[str, StaticFile]] = no_files
    """Returns files by path, when one is asked for."""
    has_routes: bool = False
    """Whether requests of other paths than `/` are passed on (`ChainServer.routes`)."""


class ChainServer(Protocol):
    """Where a chain is served."""

    handler: Handler
    """The handler of its requests."""
    unlogged: Handler
    """The handler of requests that are not logged here."""
    routes: PathRouter
    """The handlers of other paths than `/`."""
    pages: dict[str, Page]
    """The pages by path, to which more can be added."""

    @property
    def address(self) -> str:
        """The host and port it listens on."""

    @property
    def port(self) -> int:
        """The port it listens on."""

    @property
    def extra_port(self) -> int | None:
        """The other port it listens on, if there is one."""

    @property
    def extra_address(self) -> str | None:
        """The host and port at which the chain is served, too."""


class ServedChain:
    """A chain of a node with its RPC methods, those of features included, and the services that they share."""

    def __init__(
        self,
        opened: OpenChain,
        features: Sequence[ChainFeature] = (),
        *,
        wake: Callable[[], None] | None = None,
    ) -> None:
        """Make the methods; `wake` is called in place of notifying subscribers, which needs an event loop."""
        self.opened = opened
        self.plan = plan = opened.plan
        self.features = features
        self.chain = opened.chain
        self.sequencer = opened.sequencer
        self.fees = opened.fees
        self.rollup = opened.rollup
        self.on_logging_enabled: Listeners[[bool]] = Listeners()
        """Called by `anvil_setLoggingEnabled`."""
        self.on_console: Listeners[[str, ConsoleCalls]] = Listeners()
        """Called with the method and with what its call or estimate logs by `console.log`."""
        self.server: ChainServer
        """Where it is served, once there is a service."""
        self.services = services = ApiServices(opened, wake=wake)
        self.keyring = plan.keyring
        self.filters = services.filters
        self.subscriptions = services.subscriptions
        self._offers: dict[type, Any] = {}
        for feature in features:
            self._offers |= feature.offers(self)
        namespaces = ethereum_namespaces(services, report_console=self.on_console.notify)
        if plan.layer == 2:
            # An L1 alone does not need them.
            from entresol.node.api.zk_stack import zk_stack_namespaces  # noqa: PLC0415

            namespaces += zk_stack_namespaces(services, opened)
        for feature in features:
            namespaces += feature.methods(self)
        namespaces.append(RpcModules(namespace.prefix for namespace in namespaces))
        self.dispatcher = Dispatcher(
            namespaces,
            threads=services.threads,
            limits=request_limits(services.limits),
            router=plan.router,
            reads=self._native_reads(),
            flush=services.submission.flush,
            routed=self._routed,
        )
        services.rendered.invalidated.add(self.dispatcher.invalidate_cache)

    def find(self, kind: type[T]) -> T | None:
        """Return what a feature of the chain offers by its type; None if none does."""
        found: T | None = self._offers.get(kind)
        return found

    @property
    def explainer(self) -> Explainer | None:
        """The explainer of the log, if a feature has one."""
        found = (feature.explains() for feature in self.features)
        return next((explainer for explainer in found if explainer is not None), None)

    def _routed(self, methods: Mapping[str, Method]) -> dict[str, Method]:
        routed = dict(methods)
        # The first of them is the outermost.
        for feature in reversed(self.features):
            routed = {name: feature.route(method) for name, method in routed.items()}
        return routed

    def _native_reads(self) -> NativeReads:
        services, bridge = self.services, None
        if self.fees is not None:
            bridge = new_bridge_estimates(
                services.resolver, services.runner, self.fees, services.call_errors
            )
        accounts = new_account_reads(services.chain, services.resolver)
        return NativeReads(accounts, services.reads, services.fees, bridge)

    def close(self) -> None:
        """Unsubscribe from the chain, and shut the thread pool down."""
        self.services.close()

    def forget_failures(self) -> None:
        """Count failed validations anew, because the contracts that have let them fail were reverted."""
        self.services.validations.forget_failures()

    def memory(self) -> Iterator[MemoryUse]:
        """Yield the memory of what grows with the requests of clients."""
        services = self.services
        chain, rendered, criteria = services.chain, services.rendered, services.criteria
        yield MemoryUse("pool", chain.pool.size, chain.pool.config.limit_bytes)
        yield MemoryUse("blobs", chain.sidecars.size, chain.sidecars.max_bytes)
        yield MemoryUse("filters", criteria.used, criteria.max_bytes)
        yield MemoryUse("filter_events", self.filters.event_bytes, MAX_EVENT_BYTES)
        yield MemoryUse("blocks", chain.ledger.store.read_cache.size, CACHES.record_bytes)
        yield MemoryUse("rendered", rendered.cached_bytes, CACHES.rendered)
        yield MemoryUse("logs", rendered.log_cache.size, CACHES.logs)
        yield MemoryUse("calls", services.reads.size, CACHES.calls)
        yield MemoryUse("fees", services.fees.size, CACHES.fee_history)
        yield MemoryUse("responses", self.dispatcher.cached_bytes, CACHES.responses)
        for feature in self.features:
            yield from feature.memory()

    def batch_sealed(self, batch: Batch) -> None:
        """Invalidate cached responses of the blocks of `batch`, which now have a batch."""
        self.blocks_batched(batch.first_block, batch.last_block)

    def blocks_batched(self, first: int, last: int) -> None:
        """Invalidate cached responses of the blocks from `first` to `last`, which now have a batch."""
        self.services.rendered.batch_sealed(first, last)


class ChainFeature:
    """A feature as it adds to one chain, from before that is opened until it is closed; each hook has a default."""

    def offers(self, chain: ServedChain) -> Mapping[type, object]:  # noqa: ARG002 - a hook
        """Return what other features find by its type; it is asked for before any methods."""
        return {}

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:  # noqa: ARG002 - a hook
        """Return RPC methods."""
        return ()

    def route(self, method: Method) -> Method:
        """Return a method in place of another one; called once for each."""
        return method

    def explains(self) -> Explainer | None:
        """Return what says in the log where something failed."""
        return None

    def pages(self, chain: ServedChain) -> Pages:  # noqa: ARG002 - a hook
        """Return pages and files."""
        return Pages()

    def health(self) -> Mapping[str, Any]:
        """Return fields of `/health`."""
        return {}

    def metrics(self) -> Iterable[Sample]:
        """Return samples for `/metrics`."""
        return ()

    def memory(self) -> Iterable[MemoryUse]:
        """Return the memory of what grows with the requests of clients."""
        return ()

    def shipped(self) -> Mapping[str, Any]:
        """Return what this feature needs in workers, by its name."""
        return {}

    def close(self) -> None:
        """Close it; also if the chain could not be opened."""


class NodePlan:
    """A node while it is opened, and then while it runs: its settings and its chains."""

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self.chains: list[OpenChain] = []
        """The L2s that are open, in the order of their registration; the only chain if there is one."""
        self.l1: OpenChain | None = None
        """The development L1 beneath them."""
        self.served: list[ServedChain] = []
        """The L2s that are served, in the same order."""
        self.served_l1: ServedChain | None = None
        self.is_reset = False
        """Whether it takes the place of another node, whose clients it serves on."""

    @property
    def all_open(self) -> list[OpenChain]:
        """The chains that are open, the L2s first."""
        return [*self.chains, *([] if self.l1 is None else [self.l1])]

    @property
    def all_served(self) -> list[ServedChain]:
        """The chains that are served, the L2s first."""
        return [*self.served, *([] if self.served_l1 is None else [self.served_l1])]


class Feature:
    """A feature in one open node; each hook has a default.

    A reset opens a second one beside the first: it holds nothing that only one can hold, such as a port or a lock.
    """

    name: ClassVar[str]

    def __init__(self, node: NodePlan) -> None:
        self.node = node

    @classmethod
    def indexes(cls, config: NodeConfig) -> Iterable[BlockIndex]:  # noqa: ARG003 - a hook
        """Return what each store of these settings writes with each block."""
        return ()

    def chain(self, plan: ChainPlan) -> ChainFeature | None:  # noqa: ARG002 - a hook
        """Return what it adds to a chain, at the start or to one that is added."""
        return None

    def opened(self, chains: Sequence[OpenChain]) -> None:
        """Take chains that are open, the L2s first: all at the start, before anything seals, and each that is added."""

    def connected(self, chains: Sequence[ServedChain]) -> None:
        """Link all chains, which are made, or are one more."""

    def parts(self) -> Iterable[tuple[Phase, Part]]:
        """Return what runs for the whole node."""
        return ()

    def info(self) -> Mapping[str, str]:
        """Return rows of the banner, without secrets."""
        return {}

    def continues(self, before: Self) -> None:
        """Take over what clients have set of the one that a reset replaces."""

    def close(self) -> None:
        """Close it; also if the start failed."""
