"""Adds an L2 to a running node, on its development L1."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from entresol.background_task import cancel
from entresol.errors import ChainNotAdded, InvalidConfig, ListenFailed, MalformedValue
from entresol.features.adding.records import AddedChain, AddedChains
from entresol.features.adding.registration import NewChainRegistrar
from entresol.features.adding.tokens import base_token_for
from entresol.features.workers.settings import worker_count
from entresol.l1.deployment import RegisteredChain
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator import Operator
from entresol.l1.registration import check_origin
from entresol.node.layer_two_configs import MAX_CHAINS, MAX_PORT
from entresol.node.opening.availability import data_scheme_of
from entresol.node.opening.development_keys import operator_of
from entresol.node.opening.layer_one import limit_requests
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.parts.layers import LayerTwo, embedded_settlement_layer, serve_layer_two
from entresol.node.parts.part import Part, first_problem
from entresol.node.settlement.manifest import RecordedToken
from entresol.node.settlement.settlement_layer import development_contracts, fee_limits
from entresol.primitives.values import create_address
from entresol.rollup.batches import genesis_batch_hash

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from entresol.chain.chain import Chain
    from entresol.features.adding.methods import ChainControl, ChainEntry, NewChainFields
    from entresol.node.builder import NodeBuilder
    from entresol.node.chain_service import ChainService
    from entresol.node.config.schema import NodeConfig
    from entresol.node.parts.ecosystem import EcosystemParts
    from entresol.sequencer.local import LocalSequencer

log = logging.getLogger(__name__)

_MAX_ID: Final = 2**64 - 1
_FIELDS: Final = {
    "--base-token": "baseToken",
    "--base-token-ratio": "baseTokenRatio",
    "--base-token-decimals": "baseTokenDecimals",
}
"""The clients' names for the settings."""


class NoChains:
    """Rejects to add chains to a node that cannot have more."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def add_chain(self, chain: NewChainFields) -> ChainEntry:  # noqa: ARG002 - as ChainAdder
        """Reject."""
        raise ChainNotAdded(self._reason)


def chain_control(config: NodeConfig, adder: ChainAdder | None) -> ChainControl:
    """Return what adds chains to a node, or says why it does not."""
    if worker_count(config) > 1:
        return NoChains("the node has --workers, which serve the chains that it was started with")
    if adder is None:
        return NoChains("chains are added on the development L1, and the node has none")
    return adder


class ChainAdder:
    """A part of a node: adds L2s, one after the other, and is what starts and stops them.

    Remembers: the parts of the chains that it has added. Persists: which they are (`AddedChains`), before the first
    transaction. Assumes: the event loop of the node, and a development L1 in this process. Fails: with a typed error, and
    nothing of the chain is there then. If the process ends meanwhile, the next start has the chain if L1 has registered
    it, and else nothing of it.
    """

    def __init__(
        self, ecosystem: EcosystemParts, l1_chain: Chain, l1_sequencer: LocalSequencer
    ) -> None:
        self._ecosystem = ecosystem
        self._added = AddedChains(ecosystem.builder.config)
        self._l1_chain = l1_chain
        self._l1_sequencer = l1_sequencer
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[ChainEntry]] = set()
        self._waiting = 0
        self._parts: list[Part] = []
        self._opened = contextlib.ExitStack()
        self._is_stopping = False

    def open_added(self) -> None:
        """Open the chains that were added before a restart, which the recipe serves with all others."""
        ecosystem, config = self._ecosystem, self._ecosystem.builder.config
        for record in self._added.complete(self._l1_chain):
            if worker_count(config) > 1:
                raise InvalidConfig(
                    "--workers",
                    f"chain {record.chain_id} was added here, and has no workers; leave it out",
                )
            layer_two = self._opened_layer_two(ecosystem.builder, record)
            contract, chain = record.contract, layer_two.chain
            limit_requests(self._l1_chain, contract, chain.rules.gas_limit)
            ecosystem.control.add(chain)
            ecosystem.add(layer_two)

    @property
    def problem(self) -> str | None:
        """The first problem of the chains that were added."""
        return first_problem(self._parts)

    async def start(self) -> None:
        """Complete what an addition that was interrupted has left; chains start when they are added."""
        indexes = {chain.index for chain in self._added.chains}
        for index, layer_two in enumerate(self._ecosystem.layer_twos):
            if index in indexes:
                await self._tell_all(layer_two, index)

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
        if len(self._ecosystem.layer_twos) + self._waiting >= MAX_CHAINS:
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
                    layer_two, service = await self._join(chain)
                finally:
                    self._waiting -= 1
                return await self._begin(layer_two, service)
            except InvalidConfig as error:
                field = _FIELDS.get(error.source)
                raise MalformedValue(error.problem, field=field) from error
            except ListenFailed as error:
                raise ChainNotAdded(str(error)) from error

    async def _join(self, chain: NewChainFields) -> tuple[LayerTwo, ChainService]:
        """Register a chain on L1, and have it beside the others of the node."""
        self._check(chain)
        ecosystem, l1_chain = self._ecosystem, self._l1_chain
        config, contracts = ecosystem.builder.config, development_contracts()
        l1 = EmbeddedLayerOne(l1_chain, self._l1_sequencer)
        registrar = NewChainRegistrar(l1_chain, l1, ecosystem.rollups[0].settler)
        shared = await registrar.find(contracts.bridgehub, chain.chain_id)
        known = [layer_two.base_token for layer_two in ecosystem.layer_twos]
        token = await base_token_for(chain, config.chain, known, l1)
        await check_origin(l1, contracts, token.l1_address)
        index = len(ecosystem.layer_twos)
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
            with ecosystem.builder.extension() as builder:
                layer_two, service = self._made(builder, record)
                async with _taken_port(service):
                    registered = _registered(layer_two, operator)
                    own = record.contracts
                    await registrar.register(registered, own, operator, shared)
                    record.check_registered(l1_chain)
                # From here on nothing waits until the node has the chain.
                self._joined(builder, layer_two, service)
        except Exception:
            # A node that is stopped leaves it to the next start, as L1 may have the registration by then.
            self._added.forget(record)
            raise
        return layer_two, service

    async def _begin(self, layer_two: LayerTwo, service: ChainService) -> ChainEntry:
        index = self._ecosystem.layer_twos.index(layer_two)
        await self._started(layer_two, service)
        await self._tell_all(layer_two, index)
        log.info("added chain %d at %s", layer_two.chain.rules.chain_id, service.address)
        return self._ecosystem.info_of(index).entry

    def _check(self, chain: NewChainFields) -> None:
        ecosystem = self._ecosystem
        if not 1 <= chain.chain_id <= _MAX_ID:
            raise MalformedValue(f"ids are from 1 to {_MAX_ID:,}", field="chainId")
        if chain.chain_id == self._l1_chain.rules.chain_id:
            raise MalformedValue(f"the L1 has the id {int(chain.chain_id)}", field="chainId")
        services = [
            (service, f"chain {service.chain.rules.chain_id}") for service in ecosystem.services
        ]
        if ecosystem.layer_one is not None:
            services.append((ecosystem.layer_one, "the L1"))
        if any(service.chain.rules.chain_id == chain.chain_id for service in ecosystem.services):
            raise MalformedValue(f"the node has chain {int(chain.chain_id)}", field="chainId")
        if chain.port is not None and chain.port > MAX_PORT:
            raise MalformedValue(f"ports are from 0 to {MAX_PORT:,}", field="port")
        for service, name in services:
            if chain.port and chain.port in (service.port, service.extra_port):
                raise MalformedValue(f"{name} has the port {int(chain.port)}", field="port")

    def _made(self, builder: NodeBuilder, record: AddedChain) -> tuple[LayerTwo, ChainService]:
        layer_two = self._opened_layer_two(builder, record)
        name, control = str(record.chain_id), self._ecosystem.control
        relay, forks = self._ecosystem.relay, self._ecosystem.forks
        service = serve_layer_two(
            builder,
            layer_two,
            control,
            name=name,
            chains=self,
            relay=relay,
            forks=None if forks is None else forks.of(record.index),
        )
        return layer_two, service

    def _opened_layer_two(self, builder: NodeBuilder, record: AddedChain) -> LayerTwo:
        config = record.config(builder.config)
        contracts, token = record.contracts, record.base_token
        opened = open_layer_two(config, self._l1_chain.rules.chain_id, contracts, base_token=token)
        builder.opened(opened[0])
        layer = embedded_settlement_layer(
            self._l1_chain, self._l1_sequencer, record.index, contracts
        )
        return LayerTwo.of(config, opened, token, layer)

    def _joined(self, builder: NodeBuilder, layer_two: LayerTwo, service: ChainService) -> None:
        """Have one more chain in everything that is of all chains."""
        ecosystem = self._ecosystem
        self._opened.push(builder.taken())
        for known, served in zip(ecosystem.layer_twos, ecosystem.services, strict=True):
            builder.name(str(known.chain.rules.chain_id), known.sequencer, served, known.rollup)
        builder.name(str(self._l1_chain.rules.chain_id), self._l1_sequencer, ecosystem.layer_one)
        ecosystem.control.add(layer_two.chain)
        ecosystem.add(layer_two)
        ecosystem.services.append(service)
        ecosystem.connect()
        parts = self._parts_of(layer_two, service)
        self._parts += parts
        builder.add(*parts, chain=str(layer_two.chain.rules.chain_id))

    async def _started(self, layer_two: LayerTwo, service: ChainService) -> None:
        if layer_two.rollup is not None:
            await layer_two.rollup.read_prices()
        for part in self._parts_of(layer_two, service):
            await part.start()

    async def _tell_all(self, layer_two: LayerTwo, index: int) -> None:
        """Let bundles be sent between a chain and all others; without that it is a chain like any other."""
        chain_id, rollup = layer_two.chain.rules.chain_id, layer_two.rollup
        assert rollup is not None
        l1 = EmbeddedLayerOne(self._l1_chain, self._l1_sequencer)
        registrar = NewChainRegistrar(self._l1_chain, l1, rollup.settler)
        contracts, operator = rollup.settlement_layer.contracts, operator_of(index).address
        try:
            await registrar.tell_all(chain_id, contracts, operator)
        except ChainNotAdded as error:
            log.warning(
                "no bundles can be sent between chain %d and some others yet: %s", chain_id, error
            )

    def _parts_of(self, layer_two: LayerTwo, service: ChainService) -> Sequence[Part]:
        # As in the recipe: from the end, requests in progress need the sequencer.
        parts = (layer_two.sequencer, service, layer_two.rollup)
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


def _registered(layer_two: LayerTwo, operator: Operator) -> RegisteredChain:
    chain = layer_two.chain
    return RegisteredChain(
        chain_id=chain.rules.chain_id,
        operator=operator.address,
        genesis_batch_hash=genesis_batch_hash(chain),
        priority_tx_max_gas=chain.rules.gas_limit,
        base_token=layer_two.base_token,
        is_development=chain.rules.is_development,
        data_scheme=data_scheme_of(chain),
    )
