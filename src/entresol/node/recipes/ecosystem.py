"""L2s with the L1 that they settle on: a development L1 in the same process, a remote one, or none."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from entresol.features.adding.chain_adder import ChainAdder, chain_control
from entresol.features.dev.control import DevControl
from entresol.features.dev.settings import DevConfig
from entresol.features.dev.state_dumper import StateDumper, load_at_start
from entresol.features.explorer.explorer_routes import remote_reads
from entresol.features.fork.opening.open_forks import OpenForks, open_forks
from entresol.features.relay.node_relay import NodeRelay, relays
from entresol.features.workers.supervisor import WorkerSupervisor
from entresol.node.base_tokens import development_base_tokens, warn_of_coarse_prices
from entresol.node.builder import NodeBuilder
from entresol.node.ecosystem_directory import EcosystemDirectory
from entresol.node.layer_two_configs import MAX_CHAINS, layer_two_configs
from entresol.node.opening.development_keys import operator_of
from entresol.node.opening.layer_one import open_layer_one
from entresol.node.opening.layer_two import chain_id_of, open_layer_two
from entresol.node.parts.ecosystem import EcosystemParts
from entresol.node.parts.layers import (
    LayerTwo,
    embedded_settlement_layer,
    name_of,
    serve_layer_one,
    serve_layer_two,
)
from entresol.node.parts.part import Closing
from entresol.node.reopening import Reopening
from entresol.node.settlement.chain_operators import is_public
from entresol.node.settlement.remote_setup import connect_remote
from entresol.node.settlement.settlement_layer import (
    SettlementLayer,
    check_development_l1,
    development_contracts,
    verify_registration,
)
from entresol.node.startup.l1_checks import (
    check_agreement,
    check_availability,
    check_batches,
    check_gas_limit,
)
from entresol.sequencer.local import LocalSequencer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.features.fork.opening.open_fork import OpenFork
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.primitives.base_token import BaseToken
    from entresol.terminal.log import NodeLog

log = logging.getLogger(__name__)


async def open_ecosystem(config: NodeConfig, log: NodeLog | None = None) -> Node:
    """Return a node; a remote L1 is connected first, and what the L1 has of the chain is checked."""

    async def open_node(config: NodeConfig, reopening: Reopening) -> Node:
        forks = await open_forks(config)
        try:
            return await _open_ecosystem(forks, reopening, log)
        except BaseException:
            forks.close()
            raise

    reopening = Reopening(config, open_node)
    node = await open_node(config, reopening)
    reopening.attach(node)
    return node


async def _open_ecosystem(forks: OpenForks, reopening: Reopening, log: NodeLog | None) -> Node:
    config = forks.config
    if not config.l1.l1:
        return ecosystem(config, log, forks=forks, reopening=reopening)
    remote: Sequence[SettlementLayer] = ()
    if config.l1.l1_url is None:
        check_development_l1(config, is_copy=forks.l1 is not None)
    else:
        remote = await connect_remote(config)
    try:
        node = ecosystem(config, log, remote, forks=forks, reopening=reopening)
    except BaseException:
        for layer in remote:
            await layer.l1.close()
        raise
    try:
        configs = layer_two_configs(config)
        for index, (service, rollup) in enumerate(zip(node.layer_twos, node.rollups, strict=True)):
            chain, layer = service.chain, rollup.settlement_layer
            await check_availability(chain, layer)
            if remote:
                await verify_registration(configs[index], layer, chain)
                _warn_of_public_keys(configs[index], layer)
                await check_gas_limit(chain, layer)
            await check_batches(chain, layer)
            if not remote:
                await check_agreement(chain, layer)
            await rollup.read_prices()
    except BaseException:
        await node.stop()
        raise
    for service in node.layer_twos:
        # Blocks from here on are not on L1 yet.
        service.chain.batches.derivation.end()
    return node


def ecosystem(
    config: NodeConfig,
    log: NodeLog | None = None,
    remote: Sequence[SettlementLayer] = (),
    *,
    forks: OpenForks | None = None,
    reopening: Reopening | None = None,
) -> Node:
    """Return a node that serves L2s, and the development L1 that they settle on; with `remote`, each on that.

    `forks` are the layers that are copies; with `reopening`, clients can make them copies of something else.
    """
    settles, configs = config.l1.l1, layer_two_configs(config)
    forks = forks or OpenForks(config)
    tokens = [chain.base_token for chain in remote] or development_base_tokens(configs)
    with NodeBuilder(config, log) as builder:
        # The chains.
        builder.opened(forks)
        opened, l1_chain = _open_chains(builder, configs, tokens, remote, forks)
        chains = [chain for chain, _ in opened]
        # Those of chains that are added, too.
        operators = [operator_of(index).address for index in range(MAX_CHAINS)]
        control = DevControl(
            *(chains if l1_chain is None else (l1_chain, *chains)),
            settling=chains if settles else (),
            foreign_l1=bool(remote),
            operators=operators,
            settings=config.of(DevConfig),
        )
        builder.opened(control)
        load_at_start(config, control.states, chains[0], l1_chain)
        dumper = StateDumper(config, control.states, chains[0], l1_chain)

        # Who seals their blocks, and what runs between them.
        l1_sequencer = None if l1_chain is None else LocalSequencer(l1_chain)
        parts = EcosystemParts(builder, control, l1_chain, l1_sequencer, forks)
        for index, (settings, pair, token) in enumerate(zip(configs, opened, tokens, strict=True)):
            settlement_layer = remote[index] if remote else None
            if l1_chain is not None and l1_sequencer is not None:
                settlement_layer = embedded_settlement_layer(l1_chain, l1_sequencer, index)
            parts.add(LayerTwo.of(settings, pair, token, settlement_layer))
        adder = None
        if l1_chain is not None and l1_sequencer is not None:
            adder = builder.opened(ChainAdder(parts, l1_chain, l1_sequencer))
            adder.open_added()
        layer_twos, rollups = parts.layer_twos, parts.rollups
        if sum(relays(config) for config in configs):  # Each is checked.
            parts.relay = NodeRelay(layer_twos, l1_chain, l1_sequencer)
        workers = WorkerSupervisor.of(config, log, rollups)

        # What clients reach.
        adds = chain_control(config, adder)
        names = [name_of(layer_two.chain, len(layer_twos)) for layer_two in layer_twos]
        l1_name = "" if l1_chain is None else name_of(l1_chain, len(layer_twos))
        parts.services += [
            serve_layer_two(
                builder,
                layer_two,
                control,
                name=name,
                workers=workers,
                chains=adds,
                relay=parts.relay,
                forks=forks.of(index),
                reopening=_for_layer_two(reopening, configs, remote),
            )
            for index, (layer_two, name) in enumerate(zip(layer_twos, names, strict=True))
        ]
        layer_one = None
        if l1_chain is not None and l1_sequencer is not None:
            layer_one = parts.layer_one = serve_layer_one(
                builder,
                l1_chain,
                l1_sequencer,
                control,
                rollup=rollups[0],
                hidden=operators,
                name=l1_name,
                workers=workers,
                chains=adds,
                forks=forks,
                reopening=reopening,
            )
        parts.connect(remote_reads(config, remote[0].l1) if remote else None)

        # From the end: workers forward to the services, whose requests in progress need the sequencers.
        builder.add(Closing(dumper.dump_last))
        builder.add(l1_sequencer, chain=l1_name)
        builder.add_each((layer_two.sequencer for layer_two in layer_twos), names)
        builder.add_each(parts.services, names)
        builder.add(layer_one, chain=l1_name)
        builder.add(dumper, *(Closing(rollup.settlement_layer.l1.close) for rollup in rollups))
        builder.add_each((layer_two.rollup for layer_two in layer_twos), names)
        # The forks stop first: whatever waits for a remote fails then.
        builder.add(adder, parts.relay, workers, *forks.parts)
        return builder.build(parts.services, info=parts.info, rollups=rollups, layer_one=layer_one)


def _for_layer_two(
    reopening: Reopening | None, configs: Sequence[NodeConfig], remote: Sequence[SettlementLayer]
) -> Reopening | None:
    """Return what makes an L2 a copy; one of several, and one that settles elsewhere, stays what it is."""
    is_one = len(configs) == 1 and not (reopening is not None and reopening.start.chains)
    return reopening if is_one and not remote else None


def _open_chains(
    builder: NodeBuilder,
    configs: Sequence[NodeConfig],
    tokens: Sequence[BaseToken],
    remote: Sequence[SettlementLayer],
    forks: OpenForks,
) -> tuple[list[tuple[Chain, FeeModel]], Chain | None]:
    """Open the L2s, which are paid in these tokens, and the development L1 if they settle on one."""
    config = builder.config
    directory = builder.opened(EcosystemDirectory.open(config, configs))
    opened: list[tuple[Chain, FeeModel]] = []
    ids = [chain_id_of(config.chain) for config in configs]
    for index, (settings, token) in enumerate(zip(configs, tokens, strict=True)):
        if remote:
            layer = remote[index]
            pair = open_layer_two(
                settings,
                layer.l1_chain_id,
                layer.contracts,
                base_token=token,
                fork=forks.of(index).l2,
            )
        else:
            others = {other: tokens[at] for at, other in enumerate(ids) if at != index}
            pair = _open_development(settings, index, token, others, forks.of(index).l2)
        opened.append(pair)
        directory.opened(builder.opened(opened[-1][0]))
    chains = [chain for chain, _ in opened]
    l1_chain = None
    if config.l1.l1 and not remote:
        l1_chain = builder.opened(open_layer_one(config, chains, base_tokens=tokens, fork=forks.l1))
    directory.complete(chains, l1_chain)
    for chain, token in zip(chains, tokens, strict=True):
        warn_of_coarse_prices(chain.rules.chain_id, token, chain.next_base_fee())
    return opened, l1_chain


def _open_development(
    config: NodeConfig,
    index: int,
    base_token: BaseToken,
    neighbours: Mapping[int, BaseToken],
    fork: OpenFork | None,
) -> tuple[Chain, FeeModel]:
    """Open an L2 of the development L1, on which it and its neighbours are from genesis."""
    if not config.l1.l1:
        return open_layer_two(config, None, None, fork=fork)
    l1_chain_id, contracts = config.l1.l1_chain_id, development_contracts(index)
    return open_layer_two(
        config, l1_chain_id, contracts, base_token=base_token, neighbours=neighbours, fork=fork
    )


def _warn_of_public_keys(config: NodeConfig, settlement_layer: SettlementLayer) -> None:
    for key in settlement_layer.operator_keys.keys:
        if config.settlement.settle and is_public(key.secret, config.chain.chain_id):
            log.warning(
                "the key of %s is publicly known: on an L1 where its account owns anything, anybody can "
                "take it, and settle in its name; give another one by %s-file",
                *(key.name, key.flag),
            )
