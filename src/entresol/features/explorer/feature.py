"""The explorer of each chain of a node, its way to the other layers, and the methods that it needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.features.explorer.account_index import AccountIndex, IndexedAccounts
from entresol.features.explorer.explorer_page import (
    FORK_FILE,
    FORK_PATH,
    INFO_PATH,
    L1_PATH,
    L2_PATH,
    OWN_PATH,
    ExplorerPage,
    House,
)
from entresol.features.explorer.files import explorer_files
from entresol.features.explorer.holders import HolderLists
from entresol.features.explorer.methods.statistics import (
    EntresolBatchStatistics,
    EntresolBlockStatistics,
)
from entresol.features.explorer.methods.tokens import EntresolTokens, EntresolTokenTransfers
from entresol.features.explorer.methods.transactions import EntresolTransactions
from entresol.features.explorer.settings import ExplorerConfig
from entresol.features.explorer.transaction_search import TransactionSearch
from entresol.features.explorer.transfer_search import TransferSearch
from entresol.node.api.adapters import request_limits
from entresol.node.feature import ChainFeature, Feature, Pages
from entresol.node.node_parts import rollup_of
from entresol.primitives.base_token import ETHER_TOKEN
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.types.fork_target import ForkPages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from entresol.node.chain_plan import ChainPlan
    from entresol.node.config.schema import NodeConfig
    from entresol.node.feature import ServedChain
    from entresol.node.settlement.rollup import Rollup
    from entresol.rpc.jsonrpc.method import Namespace
    from entresol.server.handler import Handler, PageResponse
    from entresol.server.pages import StaticFile
    from entresol.storage.block_index import BlockIndex

HEALTH_PATH = "/health"


class ExploredChain(ChainFeature):
    """The explorer of one chain, if it is wanted, and its methods."""

    def __init__(self, plan: ChainPlan) -> None:
        self._is_wanted = plan.config.of(ExplorerConfig).explorer and not plan.is_replica
        self._shipped: ExplorerPage | None = plan.shipped.get("explorer")
        self._doors: list[str] = []
        self._chain: ServedChain
        self.page: ExplorerPage | None = None

    def offers(self, chain: ServedChain) -> Mapping[type, object]:
        """Offer itself, by which the explorers of the other chains are linked to it."""
        self._chain = chain
        return {ExploredChain: self}

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Return RPC methods."""
        ledger, services = chain.chain.ledger, chain.services
        store = ledger.store
        index = IndexedAccounts(store)
        holders = HolderLists(index, is_fork=ledger.anchor is not None)
        return [
            EntresolTokens(ledger, services.resolver, index, holders),
            EntresolTokenTransfers(ledger, TransferSearch(store)),
            EntresolBlockStatistics(ledger),
            EntresolTransactions(ledger, index, TransactionSearch(store, index, services.traces)),
            *([] if chain.rollup is None else [EntresolBatchStatistics(chain.chain.batches)]),
        ]

    def pages(self, chain: ServedChain) -> Pages:
        """Return the explorer's files, and what it has to know."""
        self.page = _page_of(chain) if self._is_wanted else self._shipped
        if self.page is None:
            return Pages()
        pages = {INFO_PATH: self.page.info_page(()), FORK_PATH: self._forks}
        return Pages(pages=pages, files=self._files, has_routes=True)

    def shipped(self) -> Mapping[str, Any]:
        """Return the page for workers."""
        return {"explorer": self.page}

    def settles_by(self, rollup: Rollup, *, is_copy: bool) -> None:
        """Know the contracts of a rollup, on an L1 that is a copy of another chain or not; workers know it already."""
        if self.page is None or self._shipped is not None:
            return
        chain, layer = self._chain.chain, rollup.settlement_layer
        self.page = ExplorerPage(
            layer=self.page.layer,
            other="here" if self._chain.plan.config.l1.l1_url is None else "remote",
            chain_id=chain.rules.chain_id,
            base_token=self.page.base_token,
            contracts=layer.contracts,
            is_copy=is_copy,
            publishes=chain.rules.publishes,
            is_development=chain.rules.is_development,
            operators=tuple(key.address for key in layer.operator_keys.keys),
        )

    def list_houses(self, houses: Sequence[tuple[ServedChain, House]]) -> None:
        """Let the port of the chain reach each L2 of the node by its id, and list them."""
        if self.page is None:
            return
        server = self._chain.server
        for chain, house in houses:
            server.routes.add(house.path, chain.server.unlogged)
            if house.path not in self._doors:
                self._doors.append(house.path)
            server.pages[f"{house.path}{HEALTH_PATH}"] = chain.server.pages[HEALTH_PATH]
            server.pages[f"{house.path}/{FORK_FILE}"] = chain.server.pages[FORK_PATH]
        server.pages[INFO_PATH] = self.page.info_page([house for _, house in houses])

    def _files(self) -> Mapping[str, StaticFile]:
        files = explorer_files()
        return {**files, **dict.fromkeys(self._doors, files["/"])} if self._doors else files

    def _forks(self) -> PageResponse:
        found = self._chain.find(ForkPages)
        fields: dict[str, Any] = {} if found is None else found.page()
        return 200, "application/json; charset=utf-8", json.dumps(fields).encode()


def _page_of(chain: ServedChain) -> ExplorerPage:
    plan, opened = chain.plan, chain.chain
    if plan.is_alone:
        return ExplorerPage(layer=1)
    token = base_token_of(opened.genesis.alloc) if plan.layer == 2 else ETHER_TOKEN
    return ExplorerPage(layer=plan.layer, chain_id=opened.rules.chain_id, base_token=token)


class ExplorerFeature(Feature):
    """The explorers of a node, each of which reaches all chains."""

    name = "explorer"

    @classmethod
    def indexes(cls, config: NodeConfig) -> Iterable[BlockIndex]:
        """Return the index of accounts and tokens, if there is an explorer."""
        return [AccountIndex()] if config.of(ExplorerConfig).explorer else []

    def chain(self, plan: ChainPlan) -> ChainFeature:
        """Return what it adds to a chain."""
        return ExploredChain(plan)

    def connected(self, chains: Sequence[ServedChain]) -> None:
        """Let the explorer of each chain reach all others; it is called again for one more L2."""
        for chain in chains:
            chain.server.routes.add(OWN_PATH, chain.server.unlogged)
        layer_twos = [chain for chain in chains if chain.plan.layer == 2]
        layer_one = next((chain for chain in chains if chain.plan.is_beneath), None)
        is_copy = layer_one is not None and layer_one.chain.ledger.anchor is not None
        for chain in layer_twos:
            if (rollup := rollup_of(chain)) is not None:
                self._of(chain).settles_by(rollup, is_copy=is_copy)
        if layer_one is not None and (rollup := rollup_of(layer_twos[0])) is not None:
            self._of(layer_one).settles_by(rollup, is_copy=is_copy)
        l1 = _remote_reads(layer_twos) if layer_one is None else layer_one.server.unlogged
        for chain in layer_twos:
            if l1 is not None:
                chain.server.routes.add(L1_PATH, l1)
        if layer_one is not None:
            layer_one.server.routes.add(L2_PATH, layer_twos[0].server.unlogged)
        houses = [
            (chain, House(page, chain.server))
            for chain in layer_twos
            if (page := self._of(chain).page) is not None
        ]
        for chain in chains:
            if chain.plan.layer == 2 or chain is layer_one:
                self._of(chain).list_houses(houses)

    def info(self) -> Mapping[str, str]:
        """Return where the explorer is."""
        served = self.node.served
        if not served or not self.node.config.of(ExplorerConfig).explorer:
            return {}
        return {"Explorer": f"http://{served[0].server.address} in a browser"}

    def _of(self, chain: ServedChain) -> ExploredChain:
        found = chain.find(ExploredChain)
        assert found is not None
        return found


def _remote_reads(layer_twos: Sequence[ServedChain]) -> Handler | None:
    """Return the handler of what the explorer reads from a remote L1; None if there is none."""
    rollup = rollup_of(layer_twos[0]) if layer_twos else None
    if rollup is None or layer_twos[0].plan.config.l1.l1_url is None:
        return None
    from entresol.features.explorer.methods.l1_reads import L1Reads  # noqa: PLC0415
    from entresol.l1.remote_layer_one import RemoteLayerOne  # noqa: PLC0415 - few have one

    l1, limits = rollup.settlement_layer.l1, layer_twos[0].plan.config.limits
    assert isinstance(l1, RemoteLayerOne)
    return Dispatcher([L1Reads(l1)], limits=request_limits(limits)).handle
