"""The report of a node of a cluster in `/health` and `/metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entresol.counted import counted
from entresol.node.metrics import Sample
from entresol.node.settlement.rollup_metrics import rollup_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.features.cluster.postgres.member import Member
    from entresol.features.workers.supervisor import WorkerSupervisor
    from entresol.node.settlement.rollup import Rollup


class MemberHealth:
    """The state of a member as clients and operators see it."""

    def __init__(
        self,
        member: Member,
        max_lag: float,
        workers: WorkerSupervisor | None,
        part_problem: Callable[[], str | None],
    ) -> None:
        """Tell the state of a member; `part_problem` returns what fails and is tried again, of all parts."""
        self._member = member
        self._max_lag = max_lag
        self._workers = workers
        self._part_problem = part_problem
        self._made: Rollup | None = None

    def settles_by(self, rollup: Rollup) -> None:
        """Note what settles from now on, while the member produces."""
        self._made = rollup

    def problem(self) -> str | None:
        """Return why this node must not be asked; None if it may be."""
        member = self._member
        if member.is_stopped:
            return member.problem
        if member.lag_seconds <= self._max_lag:
            return None
        behind = f"{member.lag_seconds:.1f} s and {counted(member.lag_blocks, 'block')} behind the cluster"
        return behind if member.problem is None else f"{behind}: {member.problem}"

    def degraded(self) -> str | None:
        """Return why this node is slow or at risk; None if it is neither."""
        distance, rollup = self._member.distance, self._rollup
        far = None if distance is None else distance.problem
        return far or (None if rollup is None else rollup.problem) or self._part_problem()

    def fields(self) -> dict[str, Any]:
        """Return the fields of `/health`."""
        member, rollup = self._member, self._rollup
        fields = {
            "role": member.role,
            "epoch": member.epoch,
            "seq": member.seq,
            "lag": {"blocks": member.lag_blocks, "seconds": round(member.lag_seconds, 3)},
            "cluster": member.problem,
        }
        if member.distance is not None:
            skew, round_trip = member.distance
            fields["database"] = {"skew": round(skew, 3), "seconds": round(round_trip, 3)}
        if self._workers is not None:
            fields |= self._workers.health()
        return fields if rollup is None else fields | rollup.report()

    def metrics(self) -> Iterator[Sample]:
        """Yield the metrics of the member, and those of settlement while it produces."""
        member, rollup = self._member, self._rollup
        is_producer = member.production is not None
        yield Sample("cluster_producer", "Whether this node produces blocks.", is_producer)
        yield Sample("cluster_epoch", "Epoch of the lease.", member.epoch)
        yield Sample("cluster_seq", "Last entry of the log that was applied.", member.seq)
        yield Sample("cluster_lag_blocks", "Blocks behind the log.", member.lag_blocks)
        yield Sample(
            "cluster_lag_milliseconds",
            "Milliseconds behind the log.",
            int(member.lag_seconds * 1000),
        )
        if rollup is not None:
            yield from rollup_metrics(rollup)

    @property
    def _rollup(self) -> Rollup | None:
        return None if self._member.production is None else self._made
