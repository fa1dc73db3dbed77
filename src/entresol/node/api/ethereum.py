"""The namespaces of any Ethereum node: `eth_`, `net_`, `personal_`, `txpool_` and `web3_`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.rpc.namespaces.eth.accounts import EthAccounts, Personal
from entresol.rpc.namespaces.eth.blocks import EthBlocks
from entresol.rpc.namespaces.eth.calls import EthCallMany, EthCalls, EthSimulate
from entresol.rpc.namespaces.eth.client import EthClient, EthConfig
from entresol.rpc.namespaces.eth.fees import EthFees
from entresol.rpc.namespaces.eth.filters import EthFilters
from entresol.rpc.namespaces.eth.state import EthState
from entresol.rpc.namespaces.eth.transactions import EthSendSync, EthTransactions, ResponseHold
from entresol.rpc.namespaces.net_web3 import Net, Web3
from entresol.rpc.namespaces.rejected import ETHEREUM, rejecting
from entresol.rpc.namespaces.txpool import TxPool

if TYPE_CHECKING:
    from entresol.execution.console import ReportConsole
    from entresol.node.api.services import ApiServices
    from entresol.rpc.jsonrpc.method import Namespace


def ethereum_namespaces(services: ApiServices, *, report_console: ReportConsole) -> list[Namespace]:
    """Return the namespaces that both layers have."""
    dialect = services.dialect
    chain, resolver, runner = services.chain, services.resolver, services.runner
    keyring, rendered, limits = services.keyring, services.rendered, services.limits
    accounts = EthAccounts(
        services.submission,
        keyring,
        services.filler,
        rendered,
        signs_to_bytes=dialect.signs_to_bytes,
    )
    calls = EthCalls(
        resolver,
        runner,
        unfunded=services.unfunded,
        fails=dialect.fails_calls,
        report_console=report_console,
    )
    return [
        accounts,
        EthClient(chain),
        rejecting("eth", ETHEREUM),
        EthConfig(chain.rules),
        EthBlocks(chain.blocks, resolver, rendered),
        calls,
        EthCallMany(chain, resolver, runner),
        EthFees(chain, resolver, services.fees),
        EthFilters(
            chain, rendered.log_cache, services.filters, services.subscriptions, services.log_limits
        ),
        EthSimulate(chain, resolver, runner),
        EthState(resolver, chain.blocks, chain.state_trie, chain.pool),
        EthTransactions(
            chain,
            resolver,
            rendered,
            services.submission,
            ResponseHold(chain, dialect.held_seconds),
        ),
        EthSendSync(
            chain, services.submission, accounts, rendered, services.config.receipt_seconds
        ),
        Net(chain.rules.chain_id),
        Personal(keyring),
        TxPool(chain.pool, rendered, limits.answer_limit_bytes),
        Web3(dialect.client_version),
    ]
