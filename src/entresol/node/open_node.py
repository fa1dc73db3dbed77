"""Open a node: L2s with the L1 that they settle on (a development one, a remote one, or none), or an L1 alone."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from entresol.features.fork.opening.open_forks import open_forks
from entresol.node.reopening import Reopening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.features.fork.opening.open_forks import OpenForks
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.node.settlement.settlement_layer import SettlementLayer
    from entresol.terminal.log import NodeLog

logger = logging.getLogger(__name__)


async def open_node(
    config: NodeConfig, log: NodeLog | None = None, *, is_alone: bool = False
) -> Node:
    """Return a node; a remote L1 is connected first, and what the L1 has of the chains is checked.

    With `is_alone` its chain is an L1 as anvil's, which the sections `chain` and `evm` describe.
    """

    async def opened(config: NodeConfig, reopening: Reopening) -> Node:
        opening = asyncio.create_task(open_forks(config, is_alone=is_alone))
        # Now it waits for the remote on a thread. Most of the node is imported meanwhile.
        await asyncio.sleep(0)
        import entresol.node.build_node  # noqa: F401, PLC0415

        forks = await opening
        try:
            return await _on_l1(forks, reopening, log, is_alone=is_alone)
        except BaseException:
            forks.close()
            raise

    reopening = Reopening(config, opened)
    node = await opened(config, reopening)
    reopening.attach(node)
    return node


async def open_layer_one_node(config: NodeConfig, log: NodeLog | None = None) -> Node:
    """Return a node that serves a development L1 alone, as anvil does."""
    return await open_node(config, log, is_alone=True)


async def _on_l1(
    forks: OpenForks, reopening: Reopening, log: NodeLog | None, *, is_alone: bool
) -> Node:
    from entresol.node.build_node import build_node  # noqa: PLC0415

    config = forks.config
    if is_alone or not config.l1.l1:
        return build_node(config, log, forks=forks, reopening=reopening, is_alone=is_alone)
    from entresol.node.settlement.settlement_layer import check_development_l1  # noqa: PLC0415

    remote: Sequence[SettlementLayer] = ()
    if config.l1.l1_url is None:
        check_development_l1(config, is_copy=forks.l1 is not None)
    else:
        from entresol.node.settlement.remote_setup import connect_remote  # noqa: PLC0415

        remote = await connect_remote(config)
    try:
        node = build_node(config, log, remote, forks=forks, reopening=reopening)
    except BaseException:
        for layer in remote:
            await layer.l1.close()
        raise
    try:
        await _check(node, config, is_remote=bool(remote))
    except BaseException:
        await node.stop()
        raise
    for service in node.layer_twos:
        # Blocks from here on are not on L1 yet.
        service.chain.batches.derivation.end()
    return node


async def _check(node: Node, config: NodeConfig, *, is_remote: bool) -> None:
    """Check that the L1 has the chains as they are here."""
    from entresol.node.layer_two_configs import layer_two_configs  # noqa: PLC0415
    from entresol.node.settlement.settlement_layer import verify_registration  # noqa: PLC0415
    from entresol.node.startup import l1_checks  # noqa: PLC0415

    configs = layer_two_configs(config)
    for index, (service, rollup) in enumerate(zip(node.layer_twos, node.rollups, strict=True)):
        chain, layer = service.chain, rollup.settlement_layer
        await l1_checks.check_availability(chain, layer)
        if is_remote:
            await verify_registration(configs[index], layer, chain)
            _warn_of_public_keys(configs[index], layer)
            await l1_checks.check_gas_limit(chain, layer)
        await l1_checks.check_batches(chain, layer)
        if not is_remote:
            await l1_checks.check_agreement(chain, layer)
        await rollup.read_prices()


def _warn_of_public_keys(config: NodeConfig, settlement_layer: SettlementLayer) -> None:
    from entresol.node.settlement.chain_operators import is_public  # noqa: PLC0415

    for key in settlement_layer.operator_keys.keys:
        if config.settlement.settle and is_public(key.secret, config.chain.chain_id):
            logger.warning(
                "the key of %s is publicly known: on an L1 where its account owns anything, anybody can "
                "take it, and settle in its name; give another one by %s-file",
                *(key.name, key.flag),
            )
