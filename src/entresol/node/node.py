"""A running node: the layer 2, the development L1 below it, and what ties them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Self

import msgspec

from entresol.chain.dev.checkpoints import Checkpoints
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.node.api import Api, LayerTwo
from entresol.node.chain_service import ChainService
from entresol.node.chains import OPERATOR, open_keyring, open_layer_one, open_layer_two
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import (
    SettlementLayer,
    check_development,
    embedded_contracts,
    find_settlement_layer,
    tie,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.chain.chain import Chain
    from entresol.chain.fees.l2_fees import FeeModel
    from entresol.node.config.schema import NodeConfig
    from entresol.node.log.log import NodeLog
    from entresol.server.handler import Handler


class Node:
    """A node that serves a layer 2, and the development L1 that it settles on unless there is another.

    Remembers: nothing of its own. Persists: the chains, if they have a directory. Assumes: one event
    loop, whose thread alone changes the chains. Fails: to start, with the error that says why; nothing
    is left open then.
    """

    def __init__(
        self,
        config: NodeConfig,
        log: NodeLog | None = None,
        settlement_layer: SettlementLayer | None = None,
    ) -> None:
        self._log = log
        self.keyring = open_keyring(config)
        self.rollup: Rollup | None = None
        self.layer_one: ChainService | None = None
        l1_chain_id = (
            config.l1.l1_chain_id if settlement_layer is None else settlement_layer.l1_chain_id
        )
        contracts = embedded_contracts() if settlement_layer is None else settlement_layer.contracts
        settles = config.l1.l1
        chain, fees = open_layer_two(
            config.chain, l1_chain_id if settles else None, contracts if settles else None
        )
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(chain.close)
            l1_chain = (
                open_layer_one(config, chain) if settles and settlement_layer is None else None
            )
            if l1_chain is not None:
                cleanup.callback(l1_chain.close)
                settlement_layer = _embedded_settlement_layer(l1_chain)
            if settlement_layer is not None:
                self.rollup = Rollup(chain, settlement_layer, fees, config)
            checkpoints = Checkpoints(*(it for it in (chain, l1_chain) if it is not None))
            self._serve(config, chain, fees, checkpoints)
            if l1_chain is not None:
                self._serve_layer_one(config, l1_chain, checkpoints)
            cleanup.pop_all()

    @classmethod
    async def open(cls, config: NodeConfig, log: NodeLog | None = None) -> Self:
        """Return a node, having found its L1 if that is another one."""
        if not config.l1.l1:
            return cls(config, log)
        if config.l1.l1_url is None:
            check_development(config)
            return cls(config, log)
        settlement_layer = await find_settlement_layer(config)
        try:
            node = cls(config, log, settlement_layer)
        except BaseException:
            await settlement_layer.l1.close()
            raise
        try:
            await tie(config, settlement_layer, node.chain)
        except BaseException:
            await node.stop()
            raise
        return node

    @property
    def chain(self) -> Chain:
        """The layer 2."""
        return self.layer_two.chain

    @property
    def handler(self) -> Handler:
        """What answers requests to the layer 2."""
        return self.layer_two.handler

    @property
    def address(self) -> str:
        """Where the layer 2 listens: host and port."""
        return self.layer_two.address

    async def start(self) -> None:
        """Listen, seal blocks when they are due, and follow L1."""
        try:
            for layer in self._layers:
                await layer.start()
        except BaseException:
            await self.stop()
            raise
        if self.rollup is not None:
            self.rollup.start()

    async def stop(self) -> None:
        """Let answers under way finish, and close everything."""
        if self.rollup is not None:
            await self.rollup.stop()
        for layer in self._layers:
            await layer.stop()
        if self._log is not None:
            self._log.unfollow()
        for layer in self._layers:
            layer.close()

    @property
    def _layers(self) -> list[ChainService]:
        return [self.layer_two, *([] if self.layer_one is None else [self.layer_one])]

    def _serve(
        self, config: NodeConfig, chain: Chain, fees: FeeModel, checkpoints: Checkpoints
    ) -> None:
        rollup = self.rollup

        def make_api(wake: Callable[[], None]) -> Api:
            return Api(
                chain,
                wake,
                keyring=self.keyring,
                config=config.api,
                limits=config.limits,
                checkpoints=checkpoints,
                layer_two=LayerTwo(fees, rollup),
            )

        health = dict if rollup is None else rollup.health
        log = None if self._log is None else self._log.of_layer()
        figures = tuple if rollup is None else rollup.figures
        self.layer_two = ChainService(
            chain, make_api, config.server, log=log, health=health, figures=figures
        )
        if rollup is not None:
            rollup.on_batch = self.layer_two.api.batch_sealed

    def _serve_layer_one(self, config: NodeConfig, chain: Chain, checkpoints: Checkpoints) -> None:
        def make_api(wake: Callable[[], None]) -> Api:
            return Api(
                chain,
                wake,
                keyring=open_keyring(config),
                config=config.api,
                limits=config.limits,
                checkpoints=checkpoints,
            )

        server = msgspec.structs.replace(config.server, port=config.l1.l1_port)
        # The operator's transactions are told by the settlement.
        log = None if self._log is None else self._log.of_layer("L1", hidden=OPERATOR.address)
        self.layer_one = ChainService(chain, make_api, server, log=log)


def _embedded_settlement_layer(chain: Chain) -> SettlementLayer:
    return SettlementLayer(
        l1=EmbeddedLayerOne(chain),
        l1_chain_id=chain.rules.chain_id,
        contracts=embedded_contracts(),
        operator_secret=OPERATOR.secret,
    )
