"""Adds an L2 to a running node, on its development L1."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from entresol.background_task import cancel
from entresol.errors import InvalidConfig, ListenFailed, MalformedValue
from entresol.features.adding.errors import ChainNotAdded
from entresol.features.adding.records import AddedChain, AddedChains
from entresol.features.adding.registration import NewChainRegistrar
from entresol.features.adding.tokens import base_token_for
from entresol.features.workers.settings import worker_count
from entresol.l1.deployment import RegisteredChain
from entresol.l1.operator import Operator
from entresol.l1.registration import check_origin
from entresol.node.chain_plan import ChainPlan, OpenChain
from entresol.node.dev_features import serves_dev_methods
from entresol.node.layer_two_configs import MAX_PORT
from entresol.node.node_parts import rollup_of
from entresol.node.opening.availability import data_scheme_of
from entresol.node.opening.development_keys import MAX_CHAINS, operator_of
from entresol.node.opening.layer_one import limit_requests
from entresol.node.opening.open_chain import open_chain
from entresol.node.opening.open_layers import embedded_settlement_layer, settled
from entresol.node.parts.part import Part, first_problem
from entresol.node.settlement.manifest import RecordedToken
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import development_contracts, fee_limits
from entresol.node.startup.info import info_of
from entresol.primitives.values import create_address
from entresol.rollup.batches import genesis_batch_hash
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from entresol.features.adding.methods import NewChainFields
    from entresol.node.chain_service import ChainService
    from entresol.node.feature import ServedChain
    from entresol.node.node_parts import NodeParts
    from entresol.rpc.models.chain_entry import ChainEntry

log = logging.getLogger(__name__)

_MAX_ID: Final = 2**64 - 1
_FIELDS: Final = {
    "--base-token": "baseToken",
    "--base-token-ratio": "baseTokenRatio",
    "--base-token-decimals": "baseTokenDecimals",
}
"""The clients' names for the settings."""


class ChainAdder:
    """A part of a node: adds L2s, one after the other, and is what starts and stops them.

    Remembers: the parts of the chains that it has added. Persists: which they are (`AddedChains`), before the first
    transaction. Assumes: the event loop of the node, and a development L1 in this process. Fails: with a typed error, and
    nothing of the chain is there then. If the process ends meanwhile, the next start has the chain if L1 has registered
    it, and else nothing of it.
    """

    def __init__(self, node: NodeParts, l1: OpenChain) -> None:
        """Take the node, and its development L1."""
        self._node = node
        self._added = AddedChains(node.config)
        self._l1 = l1
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[ChainEntry]] = set()
        self._waiting = 0
        self._parts: list[Part] = []
        self._opened = contextlib.ExitStack()
        self._is_stopping = False

    def open_added(self) -> None:
        """Open the chains that were added before a restart, which are served with all others."""
        for record in self._added.complete(self._l1.chain):
            if worker_count(self._node.config) > 1:
                raise InvalidConfig(
                    "--workers",
                    f"chain {record.chain_id} was added here, and has no workers; leave it out",
                )
            opened = self._opened_layer_two(self._node, record)
            limit_requests(self._l1.chain, record.contract, opened.chain.rules.gas_limit)
            self._node.add_chain(opened)

    @property
    def problem(self) -> str | None:
        """The first problem of the chains that were added."""
        return first_problem(self._parts)

    async def start(self) -> None:
        """Complete what an addition that was interrupted has left; chains start when they are added."""
        indexes = {chain.index for chain in self._added.chains}
        for index, opened in enumerate(self._node.chains):
            if index in indexes:
                await self._tell_all(opened, index)

    async def stop(self) -> None:
        """Add no more chains, and stop those that were added."""
        self._is_stopping = True
        for task in tuple(self._tasks):
            await cancel(task)
        async with contextlib.AsyncExitStack() as stack:
            for part in self._parts:
                stack.push_async_callback(part.stop)

    def close(self) -> None:
        """Close the chains that were added."""
        self._opened.close()

    async def add_chain(self, chain: NewChainFields) -> ChainEntry:
        """Add an L2; it is added, too, if the client does not wait for it."""
        if self._is_stopping:
            raise ChainNotAdded("the node stops")
        if len(self._node.chains) + self._waiting >= MAX_CHAINS:
            raise ChainNotAdded(f"a node has at most {MAX_CHAINS} chains")
        self._waiting += 1
        task = asyncio.create_task(self._add_in_turn(chain))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[ChainEntry]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # The client has the error, if it is still there.
            task.exception()

    async def _add_in_turn(self, chain: NewChainFields) -> ChainEntry:
        async with self._lock:
            try:
                try:
                    added = await self._join(chain)
                finally:
                    self._waiting -= 1
                return await self._begin(*added)
            except InvalidConfig as error:
                field = _FIELDS.get(error.source)
                raise MalformedValue(error.problem, field=field) from error
            except ListenFailed as error:
                raise ChainNotAdded(str(error)) from error

    async def _join(self, chain: NewChainFields) -> tuple[OpenChain, ServedChain]:
        """Register a chain on L1, and have it beside the others of the node."""
        self._check(chain)
        node, l1_chain = self._node, self._l1.chain
        config, contracts = node.config, development_contracts()
        l1 = embedded_settlement_layer(self._l1).l1
        registrar = NewChainRegistrar(l1_chain, l1, node.rollups[0].settler)
        shared = await registrar.find(contracts.bridgehub, chain.chain_id)
        known = [opened.plan.base_token for opened in node.chains]
        token = await base_token_for(chain, config.chain, known, l1)
        await check_origin(l1, contracts, token.l1_address)
        index = len(node.chains)
        secret, limits = operator_of(index).secret, fee_limits(config.l1)
        operator = Operator(l1, secret, limits, chain_id=l1_chain.rules.chain_id)
        record = AddedChain(
            chain_id=int(chain.chain_id),
            port=int(chain.port or 0),
            index=index,
            contract=create_address(operator.address, await l1.nonce(operator.address)),
            paid_in=RecordedToken.of(token),
        )
        self._added.add(record)
        try:
            with node.extension() as extension:
                opened = self._opened_layer_two(extension, record)
                served = extension.serve(opened, extension.hooks(opened))
                async with _taken_port(node.service(served)):
                    registered = _registered(opened, operator)
                    own = record.contracts
                    await registrar.register(registered, own, operator, shared)
                    record.check_registered(l1_chain)
                # From here on nothing waits until the node has the chain.
                self._joined(extension, opened, served)
        except Exception:
            # A node that is stopped leaves it to the next start, as L1 may have the registration by then.
            self._added.forget(record)
            raise
        return opened, served

    async def _begin(self, opened: OpenChain, served: ServedChain) -> ChainEntry:
        if isinstance(opened.rollup, Rollup):
            await opened.rollup.read_prices()
        for part in self._parts_of(opened, served):
            await part.start()
        await self._tell_all(opened, self._node.chains.index(opened))
        log.info("added chain %d at %s", opened.chain.rules.chain_id, served.server.address)
        return info_of(self._node, served).entry

    def _check(self, chain: NewChainFields) -> None:
        if not 1 <= chain.chain_id <= _MAX_ID:
            raise MalformedValue(f"ids are from 1 to {_MAX_ID:,}", field="chainId")
        if chain.chain_id == self._l1.chain.rules.chain_id:
            raise MalformedValue(f"the L1 has the id {int(chain.chain_id)}", field="chainId")
        served = self._node.served
        servers = [(known.server, f"chain {known.chain.rules.chain_id}") for known in served]
        if self._node.served_l1 is not None:
            servers.append((self._node.served_l1.server, "the L1"))
        if any(known.chain.rules.chain_id == chain.chain_id for known in served):
            raise MalformedValue(f"the node has chain {int(chain.chain_id)}", field="chainId")
        if chain.port is not None and chain.port > MAX_PORT:
            raise MalformedValue(f"ports are from 0 to {MAX_PORT:,}", field="port")
        for server, name in servers:
            if chain.port and chain.port in (server.port, server.extra_port):
                raise MalformedValue(f"{name} has the port {int(chain.port)}", field="port")

    def _opened_layer_two(self, node: NodeParts, record: AddedChain) -> OpenChain:
        plan = node.plan(
            ChainPlan(
                config=record.config(node.config),
                name=str(record.chain_id),
                index=record.index,
                is_open=serves_dev_methods(node.config),
                l1_chain_id=self._l1.chain.rules.chain_id,
                contracts=record.contracts,
                base_token=record.base_token,
            )
        )
        opened = open_chain(plan)
        node.opened(opened.chain)
        return settled(opened, embedded_settlement_layer(self._l1, record.index, record.contracts))

    def _joined(self, extension: NodeParts, opened: OpenChain, served: ServedChain) -> None:
        """Have one more chain in everything that is of all chains."""
        node = self._node
        self._opened.push(extension.taken())
        for known in node.served:
            node.name(str(known.chain.rules.chain_id), *self._parts_of(known.opened, known))
        if node.served_l1 is not None:
            l1 = self._l1
            node.name(str(l1.chain.rules.chain_id), *self._parts_of(l1, node.served_l1))
        node.add_chain(opened)
        node.served.append(served)
        node.connect()
        parts = self._parts_of(opened, served)
        self._parts += parts
        node.add(*parts, chain=opened.plan.name)

    async def _tell_all(self, opened: OpenChain, index: int) -> None:
        """Let bundles be sent between a chain and all others; without that it is a chain like any other."""
        chain_id, rollup = opened.chain.rules.chain_id, opened.rollup
        assert isinstance(rollup, Rollup)
        l1 = embedded_settlement_layer(self._l1).l1
        registrar = NewChainRegistrar(self._l1.chain, l1, rollup.settler)
        contracts, operator = rollup.settlement_layer.contracts, operator_of(index).address
        try:
            await registrar.tell_all(chain_id, contracts, operator)
        except ChainNotAdded as error:
            log.warning(
                "no bundles can be sent between chain %d and some others yet: %s", chain_id, error
            )

    def _parts_of(self, opened: OpenChain, served: ServedChain) -> Sequence[Part]:
        # As of all chains: from the end, requests in progress need the sequencer.
        rollup = rollup_of(opened)
        sequencer = opened.sequencer
        assert isinstance(sequencer, LocalSequencer)
        parts = (sequencer, self._node.service(served), rollup)
        return [part for part in parts if part is not None]


@contextlib.asynccontextmanager
async def _taken_port(service: ChainService) -> AsyncIterator[None]:
    """Take the port of a service, and free it again if something fails."""
    await service.bind()
    try:
        yield
    except BaseException:
        await service.stop()
        raise


def _registered(opened: OpenChain, operator: Operator) -> RegisteredChain:
    chain = opened.chain
    return RegisteredChain(
        chain_id=chain.rules.chain_id,
        operator=operator.address,
        genesis_batch_hash=genesis_batch_hash(chain),
        priority_tx_max_gas=chain.rules.gas_limit,
        base_token=opened.plan.base_token,
        is_development=chain.rules.is_development,
        data_scheme=data_scheme_of(chain),
    )
