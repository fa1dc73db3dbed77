"""The explorer of each layer of a node, and its way to the other layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.features.explorer.explorer_page import (
    FORK_FILE,
    FORK_PATH,
    INFO_PATH,
    L1_PATH,
    L2_PATH,
    ExplorerPage,
    House,
)
from entresol.features.explorer.methods.l1_reads import L1Reads
from entresol.features.explorer.settings import ExplorerConfig
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.node.api.adapters import request_limits
from entresol.primitives.base_token import ETHER_TOKEN
from entresol.rpc.jsonrpc.dispatch import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.l1.layer_one import LayerOne
    from entresol.node.chain_service import ChainService
    from entresol.node.config.schema import NodeConfig
    from entresol.node.settlement.rollup import Rollup
    from entresol.server.handler import Handler

HEALTH_PATH = "/health"


def explorer_page(
    config: NodeConfig,
    layer: Literal[1, 2],
    chain: Chain,
    rollup: Rollup | None,
    *,
    is_copy: bool = False,
) -> ExplorerPage | None:
    """Return the settings of the explorer of a layer; None if there is no explorer.

    The L1 `is_copy` of another chain, or the development one.
    """
    if not config.of(ExplorerConfig).explorer:
        return None
    base_token = base_token_of(chain.genesis.alloc) if layer == 2 else ETHER_TOKEN
    if rollup is None:
        return ExplorerPage(layer=layer, chain_id=chain.rules.chain_id, base_token=base_token)
    settlement_layer = rollup.settlement_layer
    return ExplorerPage(
        layer=layer,
        other="here" if config.l1.l1_url is None else "remote",
        chain_id=chain.rules.chain_id,
        base_token=base_token,
        contracts=settlement_layer.contracts,
        is_copy=is_copy,
        publishes=chain.rules.publishes,
        is_development=chain.rules.is_development,
        operators=tuple(key.address for key in settlement_layer.operator_keys.keys),
    )


def connect_layers(
    layer_twos: Sequence[ChainService], layer_one: ChainService | None, remote: Handler | None
) -> None:
    """Let the explorer of each layer reach all others; `remote` reads from an L1 elsewhere, if there is one.

    It is called again for one more L2.
    """
    l1 = remote if layer_one is None else layer_one.handler
    for layer_two in layer_twos:
        if l1 is not None:
            layer_two.routes.add(L1_PATH, l1)
    if layer_one is not None:
        layer_one.routes.add(L2_PATH, layer_twos[0].handler)
    _connect_houses(layer_twos, layer_one)


def _connect_houses(layer_twos: Sequence[ChainService], layer_one: ChainService | None) -> None:
    """Let every port of the node reach each of its L2s by its id, and list them."""
    houses = [
        (layer_two, House(layer_two.explorer, layer_two))
        for layer_two in layer_twos
        if layer_two.explorer is not None
    ]
    for service in (*layer_twos, *([] if layer_one is None else [layer_one])):
        if service.explorer is None:
            continue
        for layer_two, house in houses:
            service.routes.add(house.path, layer_two.handler)
            if house.path not in service.doors:
                service.doors.append(house.path)
            service.pages[f"{house.path}{HEALTH_PATH}"] = layer_two.pages[HEALTH_PATH]
            service.pages[f"{house.path}/{FORK_FILE}"] = layer_two.pages[FORK_PATH]
        service.pages[INFO_PATH] = service.explorer.info_page([house for _, house in houses])


def remote_reads(config: NodeConfig, l1: LayerOne) -> Handler | None:
    """Return the handler of what the explorer reads from a remote L1; None for one in this process."""
    if not isinstance(l1, RemoteLayerOne):
        return None
    return Dispatcher([L1Reads(l1)], limits=request_limits(config.limits)).handle
