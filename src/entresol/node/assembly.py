"""Putting a node together: the only place that sees everything."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from entresol.chain.accounts import ZK_STACK_ACCOUNTS, DevAccount, derive
from entresol.chain.chain import Chain
from entresol.chain.fees import ConstantFee
from entresol.chain.genesis import Genesis
from entresol.chain.keyring import Keyring
from entresol.chain.mempool import PoolConfig
from entresol.chain.rules import Rules
from entresol.node.config import DEFAULT_GAS_PRICE, ETHER, ApiConfig
from entresol.rpc.composing import Composer
from entresol.rpc.dispatch import Dispatcher
from entresol.rpc.filters import Filters
from entresol.rpc.namespaces.basics import EthBasics, Net, RpcModules, Web3
from entresol.rpc.namespaces.developer import Anvil, Evm, Hardhat
from entresol.rpc.namespaces.eth_accounts import EthAccounts, Personal
from entresol.rpc.namespaces.eth_blocks import EthBlocks
from entresol.rpc.namespaces.eth_calls import EthCalls
from entresol.rpc.namespaces.eth_fees import EthFees
from entresol.rpc.namespaces.eth_filters import EthFilters
from entresol.rpc.namespaces.eth_state import EthState
from entresol.rpc.namespaces.eth_transactions import EthTransactions
from entresol.rpc.namespaces.eth_waiting import EthWaiting
from entresol.rpc.namespaces.txpool import TxPool
from entresol.rpc.places import Places
from entresol.rpc.server.limits import is_loopback
from entresol.rpc.shapes.views import Views
from entresol.rpc.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.feed import Sealed
    from entresol.chain.logs import PlacedLog
    from entresol.node.config import ChainConfig, NodeConfig
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.method import Namespace

WORKERS = 4


class NotificationShapes:
    """What subscribers are told, in the shapes of the answers."""

    def __init__(self, views: Views) -> None:
        self._views = views

    def header(self, sealed: Sealed) -> bytes:
        """Return the header of a new block."""
        return bytes(self._views.head(sealed.header, sealed.hash))

    def log(self, log: PlacedLog, *, removed: bool) -> bytes:
        """Return a log."""
        return bytes(self._views.log(log, removed=removed))

    def transaction(self, transaction: Transaction) -> bytes:
        """Return a transaction that waits."""
        return bytes(self._views.waiting(transaction))


class Waiting:
    """Whatever waits for a block: in the pool, or from the other layer."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def get(self, transaction_hash: bytes) -> Transaction | None:
        """Return the transaction with this hash."""
        return self._chain.pool.get(transaction_hash) or next(
            (it for it in self._chain.producer.priority if it.hash == transaction_hash), None
        )


class Api:
    """The methods of one chain, and what they share."""

    def __init__(
        self,
        chain: Chain,
        wake: Callable[[], None],
        *,
        keyring: Keyring | None = None,
        config: ApiConfig | None = None,
    ) -> None:
        self._chain = chain
        config = config or ApiConfig()
        keyring = keyring or Keyring()
        self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="call")
        views = Views(
            chain.rules.chain_id,
            chain.ledger.store,
            Waiting(chain),
            lambda: chain.pending().finish(chain.ledger.trie),
        )
        self._follow(views)
        places = Places(chain)
        self._filters = Filters(chain, chain.ledger.store, chain.feed)
        self.subscriptions = Subscriptions(
            chain.feed, chain.ledger.store, NotificationShapes(views), wake=wake
        )
        composer = Composer(chain, places, self._executor)
        namespaces: list[Namespace] = [
            EthAccounts(chain, keyring, composer, views),
            EthBasics(chain),
            EthBlocks(chain, places, views),
            EthCalls(places),
            EthFees(chain, places),
            EthFilters(chain, views, self._filters, self.subscriptions),
            EthState(chain, places),
            EthTransactions(chain, places, views),
            EthWaiting(chain, views, config.receipt_seconds),
            Net(chain),
            Personal(keyring),
            TxPool(chain.pool, views),
            Web3(),
        ]
        if config.dev_methods:
            namespaces += [Evm(chain), Anvil(chain, keyring), Hardhat(chain, keyring)]
        namespaces.append(RpcModules(namespace.prefix for namespace in namespaces))
        self.dispatcher = Dispatcher(namespaces, executor=self._executor)

    def close(self) -> None:
        """Stop listening to the chain and end the workers."""
        self.subscriptions.close()
        self._filters.close()
        self._chain.feed.unsubscribe(self._events)
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _follow(self, views: Views) -> None:
        """Let cached answers go as soon as they are wrong, before anybody can ask again."""

        def take() -> None:
            events, _ = self._events.take()
            for event in events:
                views.follow(event)

        self._events = self._chain.feed.subscribe(wake=take)


def development_accounts(config: ChainConfig) -> tuple[DevAccount, ...]:
    """Return the accounts that the development genesis funds: the derived ones first."""
    derived = derive(config.mnemonic, config.accounts)
    return (*derived, *ZK_STACK_ACCOUNTS)


def open_keyring(config: NodeConfig) -> Keyring:
    """Return what signs for the development accounts, unless others could make it sign."""
    host = config.server.host
    if not is_loopback(host) and not config.api.expose_unlocked_accounts:
        reason = f"the node listens on {host}; --expose-unlocked-accounts unlocks them all the same"
        return Keyring(locked=reason)
    return Keyring(() if config.chain.genesis else development_accounts(config.chain))


def open_chain(config: ChainConfig) -> Chain:
    """Open the chain that `config` describes."""
    if config.genesis is None:
        addresses = [account.address for account in development_accounts(config)]
        funded = Genesis.development(config.chain_id, addresses, config.balance * ETHER)
        # A question about the first block must not cost more than the second one will. The price
        # that was set is no part of a genesis: a chain can be opened again with another one.
        genesis = msgspec.structs.replace(funded, base_fee=DEFAULT_GAS_PRICE)
    else:
        genesis = Genesis.load(Path(config.genesis))
    rules = msgspec.structs.replace(
        Rules.layer_2(genesis.chain_id),
        fork=config.hardfork,
        gas_limit=config.gas_limit,
        fees=ConstantFee(config.gas_price),
    )
    path = None if config.data_dir is None else Path(config.data_dir)
    chain = Chain.open(path, rules, genesis, pool=PoolConfig(order=config.order))
    if config.block_time is not None:
        chain.schedule.seal_every(config.block_time, time.monotonic())
    elif not config.mining:
        chain.schedule.seal_on_request()
    return chain
