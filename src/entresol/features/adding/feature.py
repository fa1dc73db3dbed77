"""L2s that clients add to a running node, as a feature of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.features.adding.errors import ChainNotAdded
from entresol.features.adding.methods import ChainControl, EntresolChains
from entresol.features.workers.settings import worker_count
from entresol.node.feature import ChainFeature, Feature, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.features.adding.chain_adder import ChainAdder
    from entresol.features.adding.methods import NewChainFields
    from entresol.node.chain_plan import ChainPlan, OpenChain
    from entresol.node.feature import NodePlan, ServedChain
    from entresol.node.parts.part import Part
    from entresol.rpc.jsonrpc.method import Namespace
    from entresol.rpc.models.chain_entry import ChainEntry


class NoChains:
    """Rejects to add chains to a node that cannot have more."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def add_chain(self, chain: NewChainFields) -> ChainEntry:  # noqa: ARG002 - as ChainAdder
        """Reject."""
        raise ChainNotAdded(self._reason)


class ChainWithMore(ChainFeature):
    """The method of a chain that adds others."""

    def __init__(self, adding: AddingFeature) -> None:
        self._adding = adding

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:  # noqa: ARG002 - alike on all
        """Return RPC methods."""
        return [EntresolChains(self._adding.control)]


class AddingFeature(Feature):
    """Adds L2s to a node with a development L1, and opens those that were added before."""

    name = "adding"

    def __init__(self, node: NodePlan) -> None:
        super().__init__(node)
        self._adder: ChainAdder | None = None

    @property
    def control(self) -> ChainControl:
        """The adder of chains, or one that says why there is none."""
        if worker_count(self.node.config) > 1:
            return NoChains(
                "the node has --workers, which serve the chains that it was started with"
            )
        if self._adder is None:
            return NoChains("chains are added on the development L1, and the node has none")
        return self._adder

    def chain(self, plan: ChainPlan) -> ChainFeature | None:
        """Return what it adds to a chain, where developers may use it."""
        return ChainWithMore(self) if plan.is_open and not plan.is_alone else None

    def opened(self, chains: Sequence[OpenChain]) -> None:
        """Open the chains that were added before, at the start."""
        l1 = self.node.l1
        if self._adder is not None or l1 is None or chains[0].plan.is_replica:
            return
        from entresol.features.adding.chain_adder import ChainAdder  # noqa: PLC0415
        from entresol.node.node_parts import NodeParts  # noqa: PLC0415

        assert isinstance(self.node, NodeParts)
        self._adder = ChainAdder(self.node, l1)
        self._adder.open_added()

    def parts(self) -> Iterable[tuple[Phase, Part]]:
        """Return what starts and stops the chains that are added."""
        return () if self._adder is None else [(Phase.LAST, self._adder)]

    def close(self) -> None:
        """Close the chains that were added."""
        if self._adder is not None:
            self._adder.close()
