"""The methods of the `entresol_` namespace that both layers have: accounts, tokens, transfers, statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features.explorer.account_index import IndexedAccounts
from entresol.features.explorer.holders import HolderLists
from entresol.features.explorer.methods.statistics import EntresolBlockStatistics
from entresol.features.explorer.methods.tokens import EntresolTokens, EntresolTokenTransfers
from entresol.features.explorer.methods.transactions import EntresolTransactions
from entresol.features.explorer.transaction_search import TransactionSearch
from entresol.features.explorer.transfer_search import TransferSearch

if TYPE_CHECKING:
    from entresol.node.api.services import ApiServices
    from entresol.rpc.jsonrpc.method import Namespace


def account_namespaces(services: ApiServices) -> list[Namespace]:
    """Return what finds transactions, tokens and transfers by account."""
    ledger, resolver = services.chain.ledger, services.resolver
    store = ledger.store
    index = IndexedAccounts(store)
    holders = HolderLists(index, is_fork=ledger.anchor is not None)
    return [
        EntresolTokens(ledger, resolver, index, holders),
        EntresolTokenTransfers(ledger, TransferSearch(store)),
        EntresolBlockStatistics(ledger),
        EntresolTransactions(ledger, index, TransactionSearch(store, index, services.traces)),
    ]
