"""The RPC API of a chain: wire the namespaces to what they read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from entresol.chain.dev.checkpoint import MAX_CHECKPOINT_BYTES
from entresol.chain.dev.keyring import Keyring
from entresol.chain.events import BlocksReverted
from entresol.execution.console import ConsoleCalls, ReportConsole
from entresol.node.adapters import (
    BatchCommitments,
    BatchInclusion,
    NotificationRenderer,
    PendingTransactions,
    call_limits,
    l2_contracts,
    log_limits,
    override_limits,
    request_limits,
)
from entresol.node.config.api import ApiConfig
from entresol.node.config.limits import LimitsConfig
from entresol.node.dev_api import dev_namespaces
from entresol.node.inspection import inspection_namespaces
from entresol.node.metrics import MemoryUse
from entresol.node.pair_control import PairControl
from entresol.node.settlement.l2_components import SettledView
from entresol.rpc.cache.blocks import DEFAULT_BYTES as MAX_RENDERED_BYTES
from entresol.rpc.cache.logs import DEFAULT_BYTES as MAX_LOG_BYTES
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.jsonrpc.native_methods import RESPONSE_CACHE_BYTES, NativeReads
from entresol.rpc.jsonrpc.offload import POLICY
from entresol.rpc.namespaces.dev.settlement import AnvilSettlement
from entresol.rpc.namespaces.dev.tokens import TokenEdits
from entresol.rpc.namespaces.eth.accounts import EthAccounts, Personal
from entresol.rpc.namespaces.eth.blocks import EthBlocks
from entresol.rpc.namespaces.eth.call_many import EthCallMany
from entresol.rpc.namespaces.eth.calls import EthCalls
from entresol.rpc.namespaces.eth.client import EthClient
from entresol.rpc.namespaces.eth.config import EthConfig
from entresol.rpc.namespaces.eth.fees import EthFees
from entresol.rpc.namespaces.eth.filters import EthFilters
from entresol.rpc.namespaces.eth.send_sync import EthSendSync
from entresol.rpc.namespaces.eth.simulate import EthSimulate
from entresol.rpc.namespaces.eth.state import EthState
from entresol.rpc.namespaces.eth.transactions import EthTransactions
from entresol.rpc.namespaces.net_web3 import Net, RpcModules, Web3, client_version
from entresol.rpc.namespaces.txpool import TxPool
from entresol.rpc.namespaces.zks.batches import ZksBatches
from entresol.rpc.namespaces.zks.bytecode import ZksBytecode
from entresol.rpc.namespaces.zks.contracts import ZksContracts
from entresol.rpc.namespaces.zks.fees import ZksFees
from entresol.rpc.namespaces.zks.proofs import ZksProofs
from entresol.rpc.namespaces.zks.protocol import ZksProtocol
from entresol.rpc.namespaces.zks.tokens import ZksTokens
from entresol.rpc.namespaces.zks.transactions import ZksTransactions
from entresol.rpc.pubsub.criteria_memory import CriteriaMemory
from entresol.rpc.pubsub.event_log import MAX_EVENT_BYTES
from entresol.rpc.pubsub.filters import Filters
from entresol.rpc.pubsub.subscriptions import Subscriptions
from entresol.rpc.services.batch_status import BatchStatus
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from entresol.rpc.services.fill_transaction import TransactionFiller
from entresol.rpc.services.native_reads import (
    MAX_CALL_BYTES,
    MAX_FEE_HISTORY_BYTES,
    new_fee_history,
    new_state_reads,
)
from entresol.rpc.services.pending_builder import PendingBuilder
from entresol.rpc.services.rendered_chain import RenderedChain
from entresol.rpc.services.sending.account_validations import AccountValidations
from entresol.rpc.services.sending.submission import Submission
from entresol.rpc.services.token_slots import TokenSlots
from entresol.storage.record_cache import MAX_BYTES as MAX_RECORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.chain.chain import Chain
    from entresol.chain.events import Event
    from entresol.node.settlement.l2_components import L2Components, RollupParts
    from entresol.primitives.batches import Batch
    from entresol.replica.shipped_events import ShippedEvents
    from entresol.rpc.jsonrpc.forwarding import Producer
    from entresol.rpc.jsonrpc.method import Namespace


class Api:
    """The RPC methods of one chain, and the services they share."""

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        wake: Callable[[], None],
        *,
        keyring: Keyring | None = None,
        config: ApiConfig | None = None,
        dev_methods: bool = True,
        limits: LimitsConfig | None = None,
        pair: PairControl | None = None,
        layer_two: L2Components | None = None,
        producer: Producer | None = None,
        notified: ShippedEvents | None = None,
    ) -> None:
        self._chain = chain
        self._notified = notified
        self._config = config or ApiConfig()
        self._limits = limits or LimitsConfig()
        self.keyring = keyring or Keyring()
        self._executor = ThreadPoolExecutor(POLICY.workers, thread_name_prefix="call")
        self._pending = PendingTransactions(chain.pool, chain.producer.priority)
        self._pending_builder = PendingBuilder(chain, self._executor)
        self._rendered = self._new_rendered(layer_two)
        self._fees = new_fee_history(chain)
        chain.events.listen(self._on_event)
        self._resolver = BlockResolver(chain, self._pending_builder.executor)
        self._runner = CallRunner(
            call_limits(self._limits), override_limits(self._limits), self._limits.call_limit
        )
        self._client_version = client_version(is_layer_two=layer_two is not None)
        self.set_logging: Callable[[bool], None] = lambda _enabled: None
        """Called by `anvil_setLoggingEnabled`."""
        self._log_limits = log_limits(self._limits, is_layer_two=layer_two is not None)
        self._criteria = CriteriaMemory(self._limits.filter_limit_bytes)
        is_anvil = dev_methods and layer_two is None
        self._filler = TransactionFiller(
            chain, self._resolver, self._runner, self._executor, sends_failing=dev_methods
        )
        self._validations = AccountValidations(chain, self._executor)
        self._submission = self._new_submission(hardhat_errors=self._config.hardhat_errors)
        self.report_console: ReportConsole = lambda _method, _calls: None
        """Called with what calls and estimates log by `console.log`."""
        self._calls = EthCalls(
            self._resolver,
            self._runner,
            unfunded_transfers=is_anvil,
            report_console=self._report_console,
        )
        self.filters = self._new_filters()
        self.subscriptions = self._new_subscriptions(wake)
        namespaces = self._ethereum(is_anvil=is_anvil) + self._inspection()
        if layer_two is not None:
            namespaces += self._zk_stack(layer_two)
        if dev_methods:
            rollup = None if layer_two is None else layer_two.rollup
            namespaces += self._development(pair or PairControl(chain), rollup)
        namespaces.append(RpcModules(namespace.prefix for namespace in namespaces))
        self._reads = new_state_reads(chain, self._resolver, self._runner)
        self.dispatcher = Dispatcher(
            namespaces,
            executor=self._executor,
            limits=request_limits(self._limits),
            producer=producer,
            reads=NativeReads(self._reads, self._fees),
        )
        self._rendered.on_invalidate(self.dispatcher.invalidate_cache)

    def close(self) -> None:
        """Unsubscribe from the chain, and shut the thread pool down."""
        self.subscriptions.close()
        self.filters.close()
        self._chain.events.remove(self._on_event)
        self._executor.shutdown(wait=False, cancel_futures=True)

    def forget_failures(self) -> None:
        """Count failed validations anew, because the contracts that have let them fail were reverted."""
        self._validations.forget_failures()

    def memory(self) -> Iterator[MemoryUse]:
        """Yield the memory of what grows with the requests of clients."""
        chain, rendered, criteria = self._chain, self._rendered, self._criteria
        yield MemoryUse("pool", chain.pool.size, chain.pool.config.limit_bytes)
        yield MemoryUse("blobs", chain.sidecars.size, chain.sidecars.max_bytes)
        yield MemoryUse("snapshots", chain.checkpoints.weight, MAX_CHECKPOINT_BYTES)
        yield MemoryUse("filters", criteria.used, criteria.max_bytes)
        yield MemoryUse("filter_events", self.filters.event_bytes, MAX_EVENT_BYTES)
        yield MemoryUse("blocks", chain.ledger.store.record_cache.size, MAX_RECORD_BYTES)
        yield MemoryUse("rendered", rendered.cached_bytes, MAX_RENDERED_BYTES)
        yield MemoryUse("logs", rendered.log_cache.size, MAX_LOG_BYTES)
        yield MemoryUse("calls", self._reads.size, MAX_CALL_BYTES)
        yield MemoryUse("fees", self._fees.size, MAX_FEE_HISTORY_BYTES)
        yield MemoryUse("responses", self.dispatcher.cached_bytes, RESPONSE_CACHE_BYTES)

    def batch_sealed(self, batch: Batch) -> None:
        """Invalidate cached responses of the blocks of `batch`, which now have a batch."""
        self.blocks_batched(batch.first_block, batch.last_block)

    def blocks_batched(self, first: int, last: int) -> None:
        """Invalidate cached responses of the blocks from `first` to `last`, which now have a batch."""
        self._rendered.batch_sealed(first, last)

    def _set_logging(self, enabled: bool) -> None:  # noqa: FBT001 - as it arrives
        self.set_logging(enabled)

    def _report_console(self, method: str, calls: ConsoleCalls) -> None:
        self.report_console(method, calls)

    def _on_event(self, event: Event) -> None:
        """Invalidate cached responses before the next request can be handled."""
        self._rendered.on_event(event)
        if isinstance(event, BlocksReverted):
            self._fees.remove_above(event.head)

    def _new_rendered(self, layer_two: L2Components | None) -> RenderedChain:
        chain = self._chain
        return RenderedChain(
            chain.rules.chain_id,
            chain.blocks,
            self._pending,
            self._pending_builder.block,
            batches=None if layer_two is None else BatchInclusion(chain.batches),
            blob_base_fee=chain.ledger.blob_fees.base_fee,
        )

    def _new_filters(self) -> Filters:
        return Filters(
            self._chain,
            self._chain.blocks,
            self._rendered.log_cache,
            self._chain.events,
            max_filters=self._limits.filter_limit,
            limits=self._log_limits,
            memory=self._criteria,
        )

    def _new_subscriptions(self, wake: Callable[[], None]) -> Subscriptions:
        notified = self._notified
        return Subscriptions(
            self._chain.events if notified is None else notified.events,
            self._chain.blocks if notified is None else notified,
            NotificationRenderer(self._rendered),
            wake=wake,
            max_per_connection=self._limits.subscription_limit,
            limits=self._log_limits,
            memory=self._criteria,
        )

    def _ethereum(self, *, is_anvil: bool) -> list[Namespace]:
        chain, resolver, rendered = self._chain, self._resolver, self._rendered
        keyring, limits = self.keyring, self._limits
        accounts = EthAccounts(
            self._submission, keyring, self._filler, rendered, signs_to_bytes=is_anvil
        )
        return [
            accounts,
            EthClient(chain),
            EthConfig(chain.rules),
            EthBlocks(chain.blocks, resolver, rendered),
            self._calls,
            EthCallMany(chain, resolver, self._runner),
            EthFees(chain, resolver, self._fees),
            EthFilters(
                chain, rendered.log_cache, self.filters, self.subscriptions, self._log_limits
            ),
            EthSimulate(chain, resolver, self._runner),
            EthState(resolver, chain.blocks, chain.state_trie, chain.pool, limits.slot_limit),
            EthTransactions(chain, resolver, rendered, self._submission),
            EthSendSync(
                chain,
                self._new_submission(),
                accounts,
                rendered,
                self._config.receipt_seconds,
            ),
            Net(chain.rules.chain_id),
            Personal(keyring),
            TxPool(chain.pool, rendered, limits.answer_limit_bytes),
            Web3(self._client_version),
        ]

    def _new_submission(self, *, hardhat_errors: bool = False) -> Submission:
        return Submission(
            self._chain,
            self._executor,
            validations=self._validations,
            hardhat_errors=hardhat_errors,
        )

    def _inspection(self) -> list[Namespace]:
        return inspection_namespaces(
            self._chain, self._resolver, self._runner, self._rendered, self._limits
        )

    def _zk_stack(self, layer_two: L2Components) -> list[Namespace]:
        chain, rollup = self._chain, layer_two.rollup
        namespaces: list[Namespace] = [
            ZksBytecode(chain.bytecodes),
            ZksFees(self._resolver, self._runner, layer_two.fees),
        ]
        if rollup is None:
            return namespaces
        batch_status = BatchStatus(chain, rollup.l1_chain_id)
        return [
            *namespaces,
            ZksBatches(chain, batch_status, layer_two.fees, BatchCommitments(chain.rules.chain_id)),
            ZksProofs(
                chain.blocks,
                chain.batches,
                chain.state_trie,
                rollup.prover,
                self._limits.slot_limit,
            ),
            ZksProtocol(chain.blocks, chain.genesis),
            ZksContracts(rollup.l1_chain_id, rollup.contracts, l2_contracts(chain.genesis)),
            ZksTokens(self._resolver),
            ZksTransactions(
                chain,
                batch_status,
                self._pending,
                self._rendered,
                self._executor,
                self._limits.answer_limit_bytes,
                validations=self._validations,
                pending_block=self._pending_builder.executor,
            ),
        ]

    def _development(
        self, pair: PairControl, rollup: RollupParts | SettledView | None
    ) -> list[Namespace]:
        slots = TokenSlots(self._resolver, self._runner, self._executor)
        namespaces = dev_namespaces(
            self._chain,
            self.keyring,
            pair,
            rendered=self._rendered,
            tokens=TokenEdits(self._chain, slots),
            submission=self._submission,
            filler=self._filler,
            executor=self._executor,
            client_version=self._client_version,
            set_logging=self._set_logging,
        )
        if rollup is None or isinstance(rollup, SettledView):
            return namespaces
        return [*namespaces, AnvilSettlement(rollup)]
