"""The relay as a feature of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entresol.features.relay.settings import relays
from entresol.node.feature import ChainFeature, Feature, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from entresol.features.relay.node_relay import NodeRelay
    from entresol.node.chain_plan import ChainPlan
    from entresol.node.feature import NodePlan, ServedChain
    from entresol.node.metrics import Sample
    from entresol.node.parts.part import Part
    from entresol.rpc.jsonrpc.method import Namespace


class RelayedChain(ChainFeature):
    """The relay's work for an L2, as the pages of that show it."""

    def __init__(self, relay: RelayFeature) -> None:
        self._relay = relay
        self._chain_id: int

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Note the id of the chain, which a genesis file may say; there are no methods."""
        self._chain_id = chain.chain.rules.chain_id
        return ()

    def health(self) -> Mapping[str, Any]:
        """Return its problem, if it relays for this L2."""
        running = self._relay.running
        return {} if running is None else running.health(self._chain_id)

    def metrics(self) -> Iterator[Sample]:
        """Yield what it has done for this L2."""
        running = self._relay.running
        yield from () if running is None else running.metrics(self._chain_id)


class RelayFeature(Feature):
    """The relay of a node, if the settings of a chain ask for one."""

    name = "relay"

    def __init__(self, node: NodePlan) -> None:
        super().__init__(node)
        self.running: NodeRelay | None = None
        self._is_wanted = False

    def chain(self, plan: ChainPlan) -> ChainFeature | None:
        """Return what it adds to an L2; raise `InvalidConfig` if there can be none where one is asked for."""
        if plan.layer == 1 or plan.is_replica:
            return None
        self._is_wanted |= relays(plan.config)
        return RelayedChain(self)

    def connected(self, chains: Sequence[ServedChain]) -> None:  # noqa: ARG002 - those of the node
        """Relay between the chains, also those that are added."""
        if self._is_wanted and self.running is None:
            from entresol.features.relay.node_relay import NodeRelay  # noqa: PLC0415 - few nodes have one

            self.running = NodeRelay(self.node.served, self.node.l1)

    def parts(self) -> Iterable[tuple[Phase, Part]]:
        """Return the relay."""
        return () if self.running is None else [(Phase.LAST, self.running)]

    def info(self) -> Mapping[str, str]:
        """Return the account that pays."""
        if self.running is None:
            return {}
        return {"Relay": f"{self.running.address.checksummed()} pays for bundles and withdrawals"}
