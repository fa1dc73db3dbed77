"""An L2 with the L1 that it settles on: a development L1 in the same process, a remote one, or none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from entresol.dev.control import DevControl
from entresol.node.builder import NodeBuilder
from entresol.node.explorer.explorer_routes import connect_layers, remote_reads
from entresol.node.open_chains import is_publicly_known, open_layer_one, open_layer_two
from entresol.node.parts.layers import (
    embedded_settlement_layer,
    serve_layer_one,
    serve_layer_two,
)
from entresol.node.parts.part import Closing
from entresol.node.settlement.remote_setup import connect_remote
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import (
    check_development_l1,
    development_contracts,
    verify_registration,
)
from entresol.node.startup.info import L1Info, NodeInfo
from entresol.node.startup.l1_checks import check_batches, check_gas_limit
from entresol.node.state_files import StateDumper, load_at_start
from entresol.node.workers.supervisor import WorkerSupervisor
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.node.settlement.settlement_layer import SettlementLayer
    from entresol.terminal.log import NodeLog

log = logging.getLogger(__name__)


async def open_ecosystem(config: NodeConfig, log: NodeLog | None = None) -> Node:
    """Return a node; a remote L1 is connected first, and what the L1 has of the chain is checked."""
    if not config.l1.l1:
        return ecosystem(config, log)
    remote = None
    if config.l1.l1_url is None:
        check_development_l1(config)
    else:
        remote = await connect_remote(config)
    try:
        node = ecosystem(config, log, remote)
    except BaseException:
        if remote is not None:
            await remote.l1.close()
        raise
    assert node.rollup is not None
    try:
        if remote is not None:
            await verify_registration(config, remote, node.chain)
            _warn_of_public_keys(config, remote)
            await check_gas_limit(node.chain, remote)
        await check_batches(node.chain, node.rollup.settlement_layer)
    except BaseException:
        await node.stop()
        raise
    return node


def ecosystem(
    config: NodeConfig, log: NodeLog | None = None, remote: SettlementLayer | None = None
) -> Node:
    """Return a node that serves an L2, and the development L1 that it settles on unless there is a `remote` one."""
    settles = config.l1.l1
    with NodeBuilder(config, log) as builder:
        # The chains.
        chain, fees = _open_layer_two(config, remote)
        builder.opened(chain)
        has_l1 = settles and remote is None
        l1_chain = builder.opened(open_layer_one(config, chain)) if has_l1 else None
        control = DevControl(
            *(it for it in (l1_chain, chain) if it is not None),
            settling=chain if settles else None,
            foreign_l1=remote is not None,
        )
        builder.opened(control)
        load_at_start(config, control.states, chain, l1_chain)
        dumper = StateDumper(config, control.states, chain, l1_chain)

        # Who seals their blocks, and what runs between them.
        sequencer = LocalSequencer(chain)
        l1_sequencer = None if l1_chain is None else LocalSequencer(l1_chain)
        settlement_layer = remote
        if l1_chain is not None and l1_sequencer is not None:
            settlement_layer = embedded_settlement_layer(l1_chain, l1_sequencer)
        rollup = None
        if settlement_layer is not None:
            rollup = Rollup(chain, sequencer, settlement_layer, fees, config)
        workers = WorkerSupervisor.of(config, log, rollup)

        # What clients reach.
        layer_two = serve_layer_two(
            builder, chain, sequencer, control, fees=fees, rollup=rollup, workers=workers
        )
        layer_one = None
        if l1_chain is not None and l1_sequencer is not None:
            layer_one = serve_layer_one(
                builder, l1_chain, l1_sequencer, control, rollup=rollup, workers=workers
            )
        remote_l1 = None if remote is None else remote_reads(config, remote.l1)
        connect_layers(layer_two, layer_one, remote_l1)

        # From the end: workers forward to the services, whose requests in progress need the sequencers.
        builder.add(Closing(dumper.dump_last), l1_sequencer, sequencer)
        builder.add(layer_two, layer_one, dumper)
        if settlement_layer is not None:
            builder.add(Closing(settlement_layer.l1.close))
        builder.add(rollup, workers)

        def info() -> NodeInfo:
            address = None if layer_one is None else layer_one.address
            l1 = None if settlement_layer is None else L1Info.of(config, settlement_layer, address)
            return NodeInfo.of(chain, config, layer_two.api.keyring, layer_two.address, l1)

        services = (layer_two,) if layer_one is None else (layer_two, layer_one)
        return builder.build(*services, info=info, rollup=rollup)


def _open_layer_two(config: NodeConfig, remote: SettlementLayer | None) -> tuple[Chain, FeeModel]:
    if not config.l1.l1:
        return open_layer_two(config, None, None)
    if remote is None:
        return open_layer_two(config, config.l1.l1_chain_id, development_contracts())
    return open_layer_two(config, remote.l1_chain_id, remote.contracts)


def _warn_of_public_keys(config: NodeConfig, settlement_layer: SettlementLayer) -> None:
    for key in settlement_layer.operator_keys.keys:
        if config.settlement.settle and is_publicly_known(key.secret):
            log.warning(
                "the key of %s is publicly known: on an L1 where its account owns anything, anybody can "
                "take it, and settle in its name; give another one by %s-file",
                *(key.name, key.flag),
            )
