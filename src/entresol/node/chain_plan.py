"""A chain of a node before it is opened, and once it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from entresol.chain.keyring import Keyring
from entresol.node.config.schema import NodeConfig
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.features.fork.opening.open_fork import OpenFork
    from entresol.features.workers.publisher import ShippedEvents
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.api.dialect import Dialect
    from entresol.node.settlement.rollup_parts import RollupParts, SettledView
    from entresol.primitives.values import Address
    from entresol.rpc.jsonrpc.forwarding import Router
    from entresol.sequencer.sequencer import Sequencer
    from entresol.server.config import ServerConfig
    from entresol.storage.store import Store


class ChainPlan(msgspec.Struct, kw_only=True, eq=False):
    """How a chain is opened and served; it changes until it is."""

    config: NodeConfig = NodeConfig()
    """The settings of the node, with those of this chain."""
    layer: Literal[1, 2] = 2
    name: str = ""
    """Its name in log, health and metrics, if the node has several L2s."""
    index: int = 0
    """Its place among the L2s."""
    is_alone: bool = False
    """Whether it is an L1 without L2s."""
    is_open: bool = True
    """Whether developers may change it: their methods are served."""
    keyring: Keyring = msgspec.field(default_factory=Keyring)
    dialect: Dialect | None = None
    """How it responds; None for that of its layer."""
    l1_chain_id: int | None = None
    """The chain id of the L1 that it settles on."""
    contracts: SettlementContracts | None = None
    """Its contracts there."""
    base_token: BaseToken = ETHER_TOKEN
    """The token that pays for gas, at the price of the settings."""
    neighbours: Mapping[int, BaseToken] = {}
    """The L2s beside it from genesis, with what pays for gas there."""
    fork: OpenFork | None = None
    """The remote below it, which has the blocks and states of its past."""

    # An assembly alone sets what follows.
    is_replica: bool = False
    """Whether another process decides its blocks."""
    store: Store | None = None
    """The store that a replica reads."""
    router: Router | None = None
    """Says which requests another node or process serves."""
    notified: ShippedEvents | None = None
    """The events of a replica, for its subscribers."""
    hidden: Sequence[Address] = ()
    """The senders whose transactions are not logged."""
    logs_transactions: bool = True
    extra_port: int | None = None
    """Another port at which it is served, too."""
    port: int | None = None
    """The port in place of that of the settings: the one that another process listens on."""
    shipped: Mapping[str, Any] = {}
    """The values that features have sent to a worker, by their names."""

    @property
    def is_beneath(self) -> bool:
        """Whether it is the development L1 beneath L2s, which has flags of its own."""
        return self.layer == 1 and not self.is_alone

    @property
    def log_name(self) -> str:
        """Its name in the log."""
        return "L1" if self.is_beneath else self.name

    @property
    def server(self) -> ServerConfig:
        """Where it is served."""
        server, l1 = self.config.server, self.config.l1
        if self.is_beneath:
            server = msgspec.structs.replace(server, port=l1.l1_port, ipc=l1.l1_ipc)
        return server if self.port is None else msgspec.structs.replace(server, port=self.port)


class OpenChain(NamedTuple):
    """A chain that is open: who seals its blocks, and on an L2 what they cost and who settles them."""

    plan: ChainPlan
    chain: Chain
    sequencer: Sequencer
    fees: FeeModel | None = None
    rollup: RollupParts | SettledView | None = None
