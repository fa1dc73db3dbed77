"""The RPC API of a chain: assemble its namespaces, and dispatch requests to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.cache_limits import CACHES
from entresol.features.adding.methods import ChainControl, EntresolChains
from entresol.features.debugger.sources.registry import SourceRegistry
from entresol.features.dev.checkpoint import MAX_CHECKPOINT_BYTES
from entresol.features.dev.control import DevControl
from entresol.listeners import Listeners
from entresol.node.api.accounts import account_namespaces
from entresol.node.api.adapters import request_limits
from entresol.node.api.development import development_namespaces
from entresol.node.api.ethereum import ethereum_namespaces
from entresol.node.api.inspection import inspection_namespaces
from entresol.node.api.services import ApiServices
from entresol.node.metrics import MemoryUse
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.jsonrpc.native_methods import NativeReads
from entresol.rpc.namespaces.net_web3 import RpcModules
from entresol.rpc.pubsub.event_log import MAX_EVENT_BYTES
from entresol.rpc.services.native_reads import new_account_reads, new_bridge_estimates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.chain.chain import Chain
    from entresol.chain.keyring import Keyring
    from entresol.execution.console import ConsoleCalls
    from entresol.features.fork.past.executions import StateAt
    from entresol.features.fork.past.remote import PastChain
    from entresol.features.fork.past.router import PastRouter
    from entresol.features.workers.publisher import ShippedEvents
    from entresol.node.api.dialect import Dialect
    from entresol.node.config.api import ApiConfig, LimitsConfig
    from entresol.node.settlement.l2_components import L2Components
    from entresol.primitives.batches import Batch
    from entresol.rpc.jsonrpc.forwarding import Router
    from entresol.rpc.types.fork_target import ForkControl
    from entresol.sequencer.sequencer import Sequencer


class Api:
    """The RPC methods of one chain, and the services they share."""

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        sequencer: Sequencer,
        *,
        keyring: Keyring | None = None,
        config: ApiConfig | None = None,
        dev_methods: bool = True,
        limits: LimitsConfig | None = None,
        control: DevControl | None = None,
        layer_two: L2Components | None = None,
        router: Router | None = None,
        notified: ShippedEvents | None = None,
        dialect: Dialect | None = None,
        chains: ChainControl | None = None,
        forks: ForkControl | None = None,
        wake: Callable[[], None] | None = None,
        remote: PastChain | None = None,
        state_at: StateAt | None = None,
        sources: SourceRegistry | None = None,
    ) -> None:
        """Make the methods; `wake` is called in place of notifying subscribers, which needs an event loop.

        A fork has the `remote` that its past is on; `state_at` returns states of that, by default by its tables.
        """
        self.on_logging_enabled: Listeners[[bool]] = Listeners()
        """Called by `anvil_setLoggingEnabled`."""
        self.on_console: Listeners[[str, ConsoleCalls]] = Listeners()
        """Called with the method and with what its call or estimate logs by `console.log`."""
        self.services = ApiServices(
            chain,
            sequencer,
            is_layer_two=layer_two is not None,
            dialect=dialect,
            dev_methods=dev_methods,
            keyring=keyring,
            config=config,
            limits=limits,
            notified=notified,
            wake=wake,
            is_fork=remote is not None,
        )
        self.keyring = self.services.keyring
        self.filters = self.services.filters
        self.subscriptions = self.services.subscriptions
        self._control = control or DevControl(chain)
        self._owns_control = control is None
        namespaces = ethereum_namespaces(self.services, report_console=self.on_console.notify)
        namespaces += inspection_namespaces(self.services)
        namespaces += account_namespaces(self.services)
        if layer_two is not None:
            # An L1 alone does not need them.
            from entresol.node.api.zk_stack import zk_stack_namespaces  # noqa: PLC0415

            namespaces += zk_stack_namespaces(self.services, layer_two)
        if dev_methods:
            namespaces += development_namespaces(
                self.services,
                self._control,
                rollup=None if layer_two is None else layer_two.rollup,
                set_logging=self.on_logging_enabled.notify,
                forks=forks,
                sources=sources or SourceRegistry(),
            )
            namespaces += [] if chains is None else [EntresolChains(chains)]
        namespaces.append(RpcModules(namespace.prefix for namespace in namespaces))
        self.past = None if remote is None else self._past_router(remote, state_at)
        self.dispatcher = Dispatcher(
            namespaces,
            threads=self.services.threads,
            limits=request_limits(self.services.limits),
            router=router,
            reads=self._native_reads(layer_two),
            flush=self.services.submission.flush,
            routed=dict if self.past is None else self.past.routed,
        )
        self.services.rendered.invalidated.add(self.dispatcher.invalidate_cache)

    def _past_router(self, remote: PastChain, state_at: StateAt | None) -> PastRouter:
        # Only forks need it.
        from entresol.node.api.past import past_router  # noqa: PLC0415

        return past_router(self.services, remote, state_at)

    def _native_reads(self, layer_two: L2Components | None) -> NativeReads:
        services, bridge = self.services, None
        if layer_two is not None:
            bridge = new_bridge_estimates(
                services.resolver, services.runner, layer_two.fees, services.call_errors
            )
        accounts = new_account_reads(services.chain, services.resolver)
        return NativeReads(accounts, services.reads, services.fees, bridge)

    def close(self) -> None:
        """Unsubscribe from the chain, and shut the thread pool down."""
        self.services.close()
        if self._owns_control:
            self._control.close()

    def forget_failures(self) -> None:
        """Count failed validations anew, because the contracts that have let them fail were reverted."""
        self.services.validations.forget_failures()

    def memory(self) -> Iterator[MemoryUse]:
        """Yield the memory of what grows with the requests of clients."""
        services = self.services
        chain, rendered, criteria = services.chain, services.rendered, services.criteria
        yield MemoryUse("pool", chain.pool.size, chain.pool.config.limit_bytes)
        yield MemoryUse("blobs", chain.sidecars.size, chain.sidecars.max_bytes)
        yield MemoryUse("snapshots", self._control.checkpoint_bytes(chain), MAX_CHECKPOINT_BYTES)
        yield MemoryUse("filters", criteria.used, criteria.max_bytes)
        yield MemoryUse("filter_events", self.filters.event_bytes, MAX_EVENT_BYTES)
        yield MemoryUse("blocks", chain.ledger.store.read_cache.size, CACHES.record_bytes)
        yield MemoryUse("rendered", rendered.cached_bytes, CACHES.rendered)
        yield MemoryUse("logs", rendered.log_cache.size, CACHES.logs)
        yield MemoryUse("calls", services.reads.size, CACHES.calls)
        yield MemoryUse("fees", services.fees.size, CACHES.fee_history)
        yield MemoryUse("responses", self.dispatcher.cached_bytes, CACHES.responses)

    def batch_sealed(self, batch: Batch) -> None:
        """Invalidate cached responses of the blocks of `batch`, which now have a batch."""
        self.blocks_batched(batch.first_block, batch.last_block)

    def blocks_batched(self, first: int, last: int) -> None:
        """Invalidate cached responses of the blocks from `first` to `last`, which now have a batch."""
        self.services.rendered.batch_sealed(first, last)
