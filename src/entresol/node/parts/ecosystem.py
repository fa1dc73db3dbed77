"""The L2s of a node on one L1, which can become more while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.features.explorer.explorer_routes import connect_layers
from entresol.features.fork.fork_info import ForkInfo
from entresol.node.startup.info import L1Info, NodeInfo

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.features.dev.control import DevControl
    from entresol.features.fork.opening.open_forks import OpenForks
    from entresol.features.relay.node_relay import NodeRelay
    from entresol.node.builder import NodeBuilder
    from entresol.node.chain_service import ChainService
    from entresol.node.parts.layers import LayerTwo
    from entresol.node.settlement.rollup import Rollup
    from entresol.rollup.settlement.settler import Settler
    from entresol.sequencer.local import LocalSequencer
    from entresol.server.handler import Handler


class EcosystemParts:
    """The L2s of a node, their services, and the development L1 below them if there is one.

    Remembers: them, in the order of their registration. Assumes: the event loop of the node.
    """

    def __init__(
        self,
        builder: NodeBuilder,
        control: DevControl,
        l1_chain: Chain | None,
        l1_sequencer: LocalSequencer | None,
        forks: OpenForks | None = None,
    ) -> None:
        self.forks = forks
        self.builder = builder
        self.control = control
        self.l1_chain = l1_chain
        self.l1_sequencer = l1_sequencer
        self.layer_twos: list[LayerTwo] = []
        self.rollups: list[Rollup] = []
        self.services: list[ChainService] = []
        self.layer_one: ChainService | None = None
        self.relay: NodeRelay | None = None
        self._settlers: list[Settler] = []

    def add(self, layer_two: LayerTwo) -> None:
        """Have one more L2, and share with its rollup what the others have: the admin's key, and the blocks of L1."""
        self.layer_twos.append(layer_two)
        rollup = layer_two.rollup
        if rollup is None:
            return
        self.rollups.append(rollup)
        # The deployer, which is the operator of the first, administers those of the genesis.
        self._settlers.append(rollup.settler)
        rollup.settlers = self._settlers
        if self.l1_chain is not None and rollup.ether_price is not None:
            rollup.ether_price.listen(self.l1_chain.events)

    def connect(self, remote: Handler | None = None) -> None:
        """Let the explorers of all layers reach each other; `remote` reads from an L1 elsewhere."""
        connect_layers(self.services, self.layer_one, remote)

    def info(self) -> NodeInfo:
        """Return what the banner and `--config-out` show."""
        return NodeInfo.joined([self.info_of(index) for index in range(len(self.layer_twos))])

    def info_of(self, index: int) -> NodeInfo:
        """Return it of one of the L2s."""
        it, service, layer_one = self.layer_twos[index], self.services[index], self.layer_one
        address = None if layer_one is None else layer_one.address
        extra = None if layer_one is None else layer_one.extra_address
        layer = None if it.rollup is None else it.rollup.settlement_layer
        l1 = None if layer is None else L1Info.of(self.builder.config, layer, address, extra)
        # L1 may have another price than the settings.
        token = msgspec.structs.replace(it.base_token, ether_price=it.fees.ether_price)
        info = NodeInfo.of(it.chain, it.config, service.api.keyring, service.address, l1, token)
        relay = None if self.relay is None else self.relay.address
        forks = None if self.forks is None else self.forks.of(index)
        return msgspec.structs.replace(
            info,
            relay=relay,
            forked=None if forks is None else ForkInfo.of(forks.l2),
            l1_forked=None if forks is None else ForkInfo.of(forks.l1),
        )
