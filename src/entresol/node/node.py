"""A running node: the L2, the development L1 if there is one, and the workers between them."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, Self

import msgspec

from entresol.dev.control import DevControl
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator_keys import OperatorKeys
from entresol.l1.urls import Endpoint
from entresol.node.api.api import Api
from entresol.node.api.dialect import CACHED_SECONDS, Dialect
from entresol.node.chain_service import ChainService, ServiceHooks
from entresol.node.chains import OPERATOR, is_publicly_known, open_layer_one, open_layer_two
from entresol.node.config.api import worker_count
from entresol.node.dev_features import (
    funded_accounts,
    init_signers,
    open_keyring,
    serves_dev_methods,
)
from entresol.node.explorer.explorer_routes import connect_layers, explorer_page
from entresol.node.settlement.l2_components import L2Components
from entresol.node.settlement.remote_setup import connect_remote
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import (
    SettlementLayer,
    check_development_l1,
    contracts_on,
    development_contracts,
    verify_registration,
)
from entresol.node.startup.info import L1Info, NodeInfo
from entresol.node.startup.l1_checks import check_batches, check_gas_limit
from entresol.node.state_files import StateDumper, load_at_start
from entresol.node.workers.pool import WorkerPool
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.chain.fees.l2_fees import FeeModel
    from entresol.dev.keyring import Keyring
    from entresol.node.config.schema import NodeConfig
    from entresol.node.log.log import NodeLog
    from entresol.primitives.batches import Batch
    from entresol.server.handler import Handler

log = logging.getLogger(__name__)


class Node:
    """A node that serves an L2, and the development L1 that it settles on unless there is a remote one.

    Remembers: nothing of its own. Persists: the chains, if there is a data directory. Assumes: one event
    loop, whose thread alone changes the chains. Fails: to start, with the error that says why; nothing
    is left open then.
    """

    def __init__(
        self,
        config: NodeConfig,
        log: NodeLog | None = None,
        settlement_layer: SettlementLayer | None = None,
    ) -> None:
        self._config = config
        self._log = log
        self.rollup: Rollup | None = None
        self.layer_one: ChainService | None = None
        processes = worker_count(config.api)
        silence = config.api.worker_silence_seconds
        self._workers = WorkerPool(processes - 1, log, silence) if processes > 1 else None
        l1_chain_id = (
            config.l1.l1_chain_id if settlement_layer is None else settlement_layer.l1_chain_id
        )
        contracts = (
            development_contracts() if settlement_layer is None else settlement_layer.contracts
        )
        settles = config.l1.l1
        chain, fees = open_layer_two(
            config, l1_chain_id if settles else None, contracts if settles else None
        )
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(chain.close)
            sequencer = LocalSequencer(chain)
            self.keyring = _keyring(config, chain, config.chain.init)
            l1_chain = (
                open_layer_one(config, chain) if settles and settlement_layer is None else None
            )
            if l1_chain is not None:
                cleanup.callback(l1_chain.close)
                l1_sequencer = LocalSequencer(l1_chain)
                settlement_layer = _embedded_settlement_layer(l1_chain, l1_sequencer)
            control = DevControl(
                *(it for it in (l1_chain, chain) if it is not None),
                settling=chain if settles else None,
                foreign_l1=settles and l1_chain is None,
            )
            cleanup.callback(control.close)
            self._control = control
            load_at_start(config, control.states, chain, l1_chain)
            self._dumper = StateDumper(config, control.states, chain, l1_chain)
            if settlement_layer is not None:
                self.rollup = Rollup(
                    *(chain, sequencer, settlement_layer, fees, config), on_batch=self._on_batch
                )
            self._serve(chain, sequencer, fees, control)
            if l1_chain is not None:
                self._serve_layer_one(l1_chain, l1_sequencer, control)
            connect_layers(config, self.layer_two, self.layer_one, self.rollup)
            cleanup.pop_all()

    @classmethod
    async def open(cls, config: NodeConfig, log: NodeLog | None = None) -> Self:
        """Return a node; a remote L1 is connected first."""
        if not config.l1.l1:
            return cls(config, log)
        settlement_layer = None
        if config.l1.l1_url is None:
            check_development_l1(config)
        else:
            settlement_layer = await connect_remote(config)
        try:
            node = cls(config, log, settlement_layer)
        except BaseException:
            if settlement_layer is not None:
                await settlement_layer.l1.close()
            raise
        assert node.rollup is not None
        try:
            if settlement_layer is not None:
                await verify_registration(config, settlement_layer, node.chain)
                _warn_of_public_keys(config, settlement_layer)
                await check_gas_limit(node.chain, settlement_layer)
            await check_batches(node.chain, node.rollup.settlement_layer)
        except BaseException:
            await node.stop()
            raise
        return node

    @property
    def chain(self) -> Chain:
        """The L2."""
        return self.layer_two.chain

    @property
    def handler(self) -> Handler:
        """The handler of requests to the L2."""
        return self.layer_two.handler

    @property
    def address(self) -> str:
        """The host and port that the L2 listens on."""
        return self.layer_two.address

    async def start(self) -> None:
        """Start the servers and the workers."""
        try:
            for service in self._services:
                await service.start()
        except BaseException:
            await self.stop()
            raise
        self._dumper.start()
        if self.rollup is not None:
            self.rollup.start()
        if self._workers is not None:
            await self._workers.start(self._config, self._services, self.rollup)

    async def stop(self) -> None:
        """Let requests in progress finish, and close everything."""
        if self._workers is not None:
            # They forward requests in progress.
            await self._workers.stop(self._config.server.stop_seconds)
        if self.rollup is not None:
            await self.rollup.stop()
        for service in self._services:
            await service.stop()
        await self._dumper.stop()
        if self._log is not None:
            self._log.unfollow()
        for service in self._services:
            service.close()
        self._control.close()

    def info(self) -> NodeInfo:
        """Return what the banner and `--config-out` show."""
        return NodeInfo.of(self.chain, self._config, self.keyring, self.address, self._l1_info())

    def _l1_info(self) -> L1Info | None:
        if self.rollup is None:
            return None
        settlement_layer, embedded = self.rollup.settlement_layer, self.layer_one
        url = self._config.l1.l1_url if embedded is None else f"http://{embedded.address}"
        assert url is not None
        return L1Info(
            chain_id=settlement_layer.l1_chain_id,
            endpoint=Endpoint(url),
            is_embedded=embedded is not None,
            contracts=settlement_layer.contracts,
        )

    @property
    def _services(self) -> list[ChainService]:
        return [self.layer_two, *([] if self.layer_one is None else [self.layer_one])]

    def _serve(
        self, chain: Chain, sequencer: LocalSequencer, fees: FeeModel, control: DevControl
    ) -> None:
        config, rollup = self._config, self.rollup

        def make_api(wake: Callable[[], None]) -> Api:
            return Api(
                chain,
                sequencer,
                wake,
                keyring=self.keyring,
                config=config.api,
                dev_methods=serves_dev_methods(config),
                limits=config.limits,
                control=control,
                layer_two=L2Components(fees, rollup),
            )

        self._role = (
            None if self._workers is None else self._workers.share(chain, lambda: fees.l1_gas_price)
        )
        log = (
            None
            if self._log is None
            else self._log.for_chain(is_public=not serves_dev_methods(config))
        )
        metrics = tuple if rollup is None else rollup.metrics
        degraded = (lambda: None) if rollup is None else rollup.degraded
        self.layer_two = ChainService(
            chain,
            make_api,
            config.server,
            log=log,
            hooks=ServiceHooks(health=self._health, degraded=degraded, metrics=metrics),
            explorer=explorer_page(config, 2, rollup),
            sequencer=sequencer,
            role=self._role,
        )

    def _on_batch(self, batch: Batch) -> None:
        self.layer_two.api.batch_sealed(batch)
        if self._role is not None:
            self._role.publisher.batch_sealed(batch)

    def _health(self) -> dict[str, Any]:
        health = {} if self.rollup is None else self.rollup.health()
        return health if self._workers is None else {**health, **self._workers.health()}

    def _serve_layer_one(
        self, chain: Chain, sequencer: LocalSequencer, control: DevControl
    ) -> None:
        config = self._config
        held_seconds = CACHED_SECONDS if config.l1.l1_delay is None else 0.0

        def make_api(wake: Callable[[], None]) -> Api:
            return Api(
                chain,
                sequencer,
                wake,
                keyring=_keyring(config, chain, config.l1.l1_init, is_layer_one=True),
                config=config.api,
                dev_methods=serves_dev_methods(config),
                limits=config.limits,
                control=control,
                dialect=Dialect.layer_one(config.api, held_seconds=held_seconds),
            )

        l1 = config.l1
        server = msgspec.structs.replace(config.server, port=l1.l1_port, ipc=l1.l1_ipc)
        # The settler logs the operator's transactions.
        log = (
            None
            if self._log is None
            else self._log.for_chain(
                "L1", hidden=OPERATOR.address, is_public=not serves_dev_methods(config)
            )
        )
        role = None if self._workers is None else self._workers.share(chain)
        page = explorer_page(config, 1, self.rollup)
        self.layer_one = ChainService(
            *(chain, make_api, server),
            log=log,
            explorer=page,
            sequencer=sequencer,
            role=role,
            is_layer_one=True,
        )


def _keyring(
    config: NodeConfig, chain: Chain, init: str | None, *, is_layer_one: bool = False
) -> Keyring:
    funded = funded_accounts(config.chain, chain.genesis, is_layer_one=is_layer_one)
    return open_keyring(config, (*funded, *init_signers(init)))


def _warn_of_public_keys(config: NodeConfig, settlement_layer: SettlementLayer) -> None:
    for key in settlement_layer.operator_keys.keys:
        if config.settlement.settle and is_publicly_known(key.secret):
            log.warning(
                "the key of %s is publicly known: on an L1 where its account owns anything, anybody can "
                "take it, and settle in its name; give another one by %s-file",
                *(key.name, key.flag),
            )


def _embedded_settlement_layer(chain: Chain, sequencer: LocalSequencer) -> SettlementLayer:
    return SettlementLayer(
        l1=EmbeddedLayerOne(chain, sequencer),
        l1_chain_id=chain.rules.chain_id,
        contracts=contracts_on(chain),
        operator_keys=OperatorKeys.of(OPERATOR.secret),
        deployment_block=chain.ledger.first,
    )
