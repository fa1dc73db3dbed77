"""Forks of the chains of a node: their past on a remote, and what clients and pages may know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from entresol.features.fork.opening.fork_control import LayerForks
from entresol.node.feature import ChainFeature, Feature, Phase
from entresol.rpc.types.fork_target import ForkControl, ForkPages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol.features.fork.opening.open_fork import OpenFork
    from entresol.features.fork.opening.open_forks import OpenForks
    from entresol.features.fork.past.executions import StateAt
    from entresol.features.fork.past.remote import PastChain
    from entresol.features.fork.past.router import PastRouter
    from entresol.node.chain_plan import ChainPlan
    from entresol.node.feature import NodePlan, ServedChain
    from entresol.node.metrics import Sample
    from entresol.node.parts.part import Part
    from entresol.node.reopening import Reopening
    from entresol.rpc.jsonrpc.method import Namespace
    from entresol.rpc.jsonrpc.served_method import Method


class RemotePast(ChainFeature):
    """The past of a chain on a remote: methods that declare it read and execute there."""

    def __init__(self, remote: PastChain, state_at: StateAt | None = None) -> None:
        """Take the remote; `state_at` returns states of it, by default by its tables."""
        self._remote = remote
        self._state_at = state_at
        self.router: PastRouter

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Make the router, before methods are routed."""
        # Only forks need it.
        from entresol.features.fork.past.new_router import past_router  # noqa: PLC0415

        self.router = past_router(chain.services, self._remote, self._state_at)
        return ()

    def route(self, method: Method) -> Method:
        """Return a method that does something else with the past, if it declares that."""
        return self.router.routed(method)


class ForkedChain(ChainFeature):
    """The forks of a node as they add to one of its chains, also to one that is not a fork."""

    def __init__(
        self, forks: OpenForks, reopening: Reopening | None, fork: OpenFork | None
    ) -> None:
        """Take the forks of the chain and of its L1, and what makes the chain a copy of something else."""
        self._forks = forks
        self._reopening = reopening
        self._fork = fork
        self._past = None if fork is None else RemotePast(fork.remote)

    def offers(self, chain: ServedChain) -> Mapping[type, object]:
        """Offer the pages of the remotes, and the control of the fork if clients may replace the chain."""
        offers: dict[type, object] = {ForkPages: ForkPages(self._forks.page)}
        if self._reopening is not None:
            layer: Literal["l1", "l2"] = "l1" if chain.plan.is_beneath else "l2"
            offers[ForkControl] = LayerForks(self._reopening, layer, chain.chain, self._fork)
        return offers

    def methods(self, chain: ServedChain) -> Iterable[Namespace]:
        """Return RPC methods: none."""
        return () if self._past is None else self._past.methods(chain)

    def route(self, method: Method) -> Method:
        """Return a method that does something else with the past, if it declares that."""
        return method if self._past is None else self._past.route(method)

    def health(self) -> Mapping[str, Any]:
        """Return the fork, and that of the L1."""
        return self._forks.health()

    def metrics(self) -> Iterable[Sample]:
        """Return samples of the fork."""
        return self._forks.metrics()


class ForkFeature(Feature):
    """The forks of a node, which are open before its chains."""

    name = "fork"

    def __init__(self, node: NodePlan, forks: OpenForks, reopening: Reopening | None) -> None:
        super().__init__(node)
        self._forks = forks
        self._reopening = reopening

    def chain(self, plan: ChainPlan) -> ChainFeature:
        """Return what it adds to a chain, which is opened on its fork."""
        forks = self._forks.of_layer_one if plan.is_beneath else self._forks.of(plan.index)
        plan.fork = forks.l2
        reopening = self._reopening
        can_become_another = reopening is not None and reopening.is_of_one_chain and not plan.index
        if plan.layer == 2 and not can_become_another:
            # One of several chains, and one that settles elsewhere, stays what it is.
            reopening = None
        return ForkedChain(forks, reopening, plan.fork)

    def parts(self) -> Iterable[tuple[Phase, Part]]:
        """Return the remotes. They stop first: whatever waits for one fails then."""
        return [(Phase.LAST, fork) for fork in self._forks.parts]
