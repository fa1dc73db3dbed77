"""Putting the methods of a chain together, each with the little that it needs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.checkpoints import Checkpoints
from entresol.chain.keyring import Keyring
from entresol.node.config import ApiConfig, LimitsConfig
from entresol.node.readers import (
    L2_CONTRACTS,
    BatchPlaces,
    Commitments,
    NotificationShapes,
    Waiting,
)
from entresol.rpc.composing import Composer
from entresol.rpc.dispatch import Dispatcher
from entresol.rpc.filters import Filters
from entresol.rpc.namespaces.basics import EthBasics, Net, RpcModules, Web3
from entresol.rpc.namespaces.developer import Anvil, Evm, Hardhat
from entresol.rpc.namespaces.eth_accounts import EthAccounts, Personal
from entresol.rpc.namespaces.eth_blocks import EthBlocks
from entresol.rpc.namespaces.eth_call_many import EthCallMany
from entresol.rpc.namespaces.eth_calls import EthCalls
from entresol.rpc.namespaces.eth_fees import EthFees
from entresol.rpc.namespaces.eth_filters import EthFilters
from entresol.rpc.namespaces.eth_simulate import EthSimulate
from entresol.rpc.namespaces.eth_state import EthState
from entresol.rpc.namespaces.eth_transactions import EthTransactions
from entresol.rpc.namespaces.eth_waiting import EthWaiting
from entresol.rpc.namespaces.settling import AnvilSettling
from entresol.rpc.namespaces.txpool import TxPool
from entresol.rpc.namespaces.zks_batches import ZksBatches
from entresol.rpc.namespaces.zks_code import ZksCode
from entresol.rpc.namespaces.zks_fees import ZksFees
from entresol.rpc.namespaces.zks_proofs import ZksProofs
from entresol.rpc.namespaces.zks_protocol import ZksProtocol
from entresol.rpc.namespaces.zks_settlement import ZksSettlement
from entresol.rpc.namespaces.zks_tokens import ZksTokens
from entresol.rpc.namespaces.zks_transactions import ZksTransactions
from entresol.rpc.places import Places
from entresol.rpc.questions import Questions
from entresol.rpc.settling import Settling
from entresol.rpc.shapes.views import Views
from entresol.rpc.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.chain.l2_fees import FeeModel
    from entresol.node.rollup import Rollup
    from entresol.rpc.method import Namespace
    from entresol.storage.batches import Batch

WORKERS: Final = 4


class LayerTwo(NamedTuple):
    """What a layer 2 has beyond a chain: prices, and an L1 unless it stands alone."""

    fees: FeeModel
    rollup: Rollup | None


class Api:
    """The methods of one chain, and what they share."""

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        chain: Chain,
        wake: Callable[[], None],
        *,
        keyring: Keyring | None = None,
        config: ApiConfig | None = None,
        limits: LimitsConfig | None = None,
        checkpoints: Checkpoints | None = None,
        layer_two: LayerTwo | None = None,
    ) -> None:
        self._chain = chain
        self._config = config or ApiConfig()
        self._limits = limits or LimitsConfig()
        self._keyring = keyring or Keyring()
        self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="call")
        self._waiting = Waiting(chain)
        self._views = self._follow(
            Views(
                chain.rules.chain_id,
                chain.ledger.store,
                self._waiting,
                chain.pending_block,
                batches=None if layer_two is None else BatchPlaces(chain.ledger.store.batches),
            )
        )
        self._places = Places(chain)
        self._questions = Questions(self._limits.calls(), self._limits.overrides())
        self._filters = Filters(
            chain,
            chain.ledger.store,
            self._views.log_book,
            chain.feed,
            capacity=self._limits.filter_limit,
            limits=self._limits.logs(),
        )
        self.subscriptions = Subscriptions(
            chain.feed,
            chain.ledger.store,
            NotificationShapes(self._views),
            wake=wake,
            per_connection=self._limits.subscription_limit,
            limits=self._limits.logs(),
        )
        namespaces = self._ethereum()
        if layer_two is not None:
            namespaces += self._zk_stack(layer_two)
        if self._config.dev_methods:
            rollup = None if layer_two is None else layer_two.rollup
            namespaces += self._development(checkpoints or Checkpoints(chain), rollup)
        namespaces.append(RpcModules(namespace.prefix for namespace in namespaces))
        self.dispatcher = Dispatcher(
            namespaces, executor=self._executor, limits=self._limits.requests()
        )
        self._views.on_change(self.dispatcher.forget)

    def close(self) -> None:
        """Stop listening to the chain and end the workers."""
        self.subscriptions.close()
        self._filters.close()
        self._chain.feed.unsubscribe(self._events)
        self._executor.shutdown(wait=False, cancel_futures=True)

    def batch_sealed(self, batch: Batch) -> None:
        """Let go of answers that do not know their batch."""
        self._views.batch_sealed(batch.first_block, batch.last_block)

    def _ethereum(self) -> list[Namespace]:
        chain, places, views = self._chain, self._places, self._views
        keyring, limits = self._keyring, self._limits
        composer = Composer(chain, places, self._questions, self._executor)
        return [
            EthAccounts(chain, keyring, composer, views),
            EthBasics(chain),
            EthBlocks(chain, places, views),
            EthCalls(places, self._questions),
            EthCallMany(chain, places, limits.calls(), limits.overrides()),
            EthFees(chain, places),
            EthFilters(chain, views.log_book, self._filters, self.subscriptions, limits.logs()),
            EthSimulate(chain, places, limits.calls(), limits.overrides()),
            EthState(chain, places),
            EthTransactions(chain, places, views),
            EthWaiting(chain, views, self._config.receipt_seconds),
            Net(chain),
            Personal(keyring),
            TxPool(chain.pool, views),
            Web3(),
        ]

    def _zk_stack(self, layer_two: LayerTwo) -> list[Namespace]:
        chain, rollup = self._chain, layer_two.rollup
        namespaces: list[Namespace] = [
            ZksCode(chain.ledger.store),
            ZksFees(self._places, self._questions, layer_two.fees),
        ]
        if rollup is None:
            return namespaces
        site = rollup.site
        settling = Settling(chain, site.l1_chain_id)
        return [
            *namespaces,
            ZksBatches(chain, settling, layer_two.fees, Commitments(chain.rules.chain_id)),
            ZksProofs(chain, settling, rollup.proofs),
            ZksProtocol(chain, chain.genesis),
            ZksSettlement(site.l1_chain_id, site.contracts, L2_CONTRACTS),
            ZksTokens(self._places),
            ZksTransactions(chain, settling, self._waiting, self._views),
        ]

    def _development(self, checkpoints: Checkpoints, rollup: Rollup | None) -> list[Namespace]:
        chain, keyring = self._chain, self._keyring
        namespaces: list[Namespace] = [
            Evm(chain, checkpoints),
            Anvil(chain, keyring, checkpoints),
            Hardhat(chain, keyring),
        ]
        return namespaces if rollup is None else [*namespaces, AnvilSettling(rollup)]

    def _follow(self, views: Views) -> Views:
        """Let cached answers go as soon as they are wrong, before anybody can ask again."""

        def take() -> None:
            events, _ = self._events.take()
            for event in events:
                views.follow(event)

        self._events = self._chain.feed.subscribe(wake=take)
        return views
