"""The workers of a node, as its pages show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entresol.features.workers.settings import worker_count
from entresol.node.feature import ChainFeature, Feature, Phase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol.features.workers.producer_role import ProducerRole
    from entresol.features.workers.supervisor import WorkerSupervisor
    from entresol.node.chain_plan import ChainPlan, OpenChain
    from entresol.node.feature import NodePlan
    from entresol.node.parts.part import Part
    from entresol.terminal.log import NodeLog


class SharedChain(ChainFeature):
    """The workers, as the pages of a chain show them that speak for the node."""

    def __init__(self, supervisor: WorkerSupervisor, plan: ChainPlan) -> None:
        self._supervisor = supervisor
        self._plan = plan

    def health(self) -> Mapping[str, Any]:
        """Return how many workers serve."""
        speaks = self._plan.layer == 2 or self._plan.name
        return self._supervisor.health() if speaks else {}


class WorkersFeature(Feature):
    """The workers that the settings request, if they do."""

    name = "workers"

    def __init__(self, node: NodePlan, log: NodeLog | None) -> None:
        super().__init__(node)
        self._supervisor: WorkerSupervisor | None = None
        if worker_count(node.config) > 1:
            # Few nodes have them.
            from entresol.features.workers.supervisor import WorkerSupervisor  # noqa: PLC0415

            self._supervisor = WorkerSupervisor(node, log)

    def chain(self, plan: ChainPlan) -> ChainFeature | None:
        """Return what it adds to a chain."""
        return None if self._supervisor is None else SharedChain(self._supervisor, plan)

    def role_of(self, opened: OpenChain) -> ProducerRole | None:
        """Return the role of the service of a chain, whose layer is the next one; None if one process serves alone."""
        if self._supervisor is None:
            return None
        return self._supervisor.share(opened.chain, opened.fees)

    def parts(self) -> Iterable[tuple[Phase, Part]]:
        """Return what runs the workers."""
        return () if self._supervisor is None else [(Phase.LAST, self._supervisor)]
