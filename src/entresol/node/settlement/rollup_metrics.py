"""Metrics of a rollup: how far batches are settled, what that costs, and which services have a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.node.metrics import Sample
from entresol.primitives.batches import SettlementStep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.node.settlement.rollup import Rollup
    from entresol.rollup.interop.root_follower import RootFollower
    from entresol.rollup.settlement.settler import Settler


def rollup_metrics(rollup: Rollup) -> Iterator[Sample]:
    """Yield how far batches are settled, and which services have a problem."""
    # As recorded, not as L1 had them when it was last read: if nothing is settled, nothing reads L1.
    last_settled, settler = rollup.chain.batches.last_settled, rollup.settler
    for step, number in (
        ("sealed", rollup.batcher.last.number),
        ("committed", last_settled(SettlementStep.COMMIT)),
        ("proven", last_settled(SettlementStep.PROVE)),
        ("executed", last_settled(SettlementStep.EXECUTE)),
    ):
        yield Sample(f"settlement_{step}_batch", f"Number of the last {step} batch.", number)
    yield Sample("settlement_booked_batch", "Highest batch whose books L1 has.", settler.books.last)
    yield Sample(
        "settlement_unbooked_batches",
        "Executed batches whose books L1 rejects, so that other chains do not learn of them.",
        settler.books.rejected,
    )
    if rollup.backlog is not None:
        yield Sample(
            "settlement_uncommitted_batches",
            "Batches with transactions of users that wait for their commit.",
            rollup.backlog.size,
        )
    yield from _interop_metrics(rollup.roots)
    for balance in rollup.balances:
        if balance.wei is None:
            continue
        for done in balance.key.steps:
            yield Sample(
                "operator_balance_wei",
                "Balance on L1 of the operator's key for a step, in wei.",
                balance.wei,
                labels=f'{_label(done)},address="{balance.key.address.checksummed()}"',
            )
    yield from _pending_metrics(settler)
    if rollup.clock.skew_seconds is not None:
        yield Sample(
            "l1_clock_skew_seconds",
            "How far the clock of this node is ahead of L1, by the last block that was seen when it was sealed.",
            rollup.clock.skew_seconds,
        )
    stopped = settler.stopped is not None
    yield Sample("settlement_stopped", "Whether a reverted step stopped settlement.", stopped)
    for part, problem in rollup.health().items():
        yield Sample(
            "settlement_problem",
            "Whether a service has a problem.",
            problem is not None,
            labels=f'part="{part}"',
        )


def _interop_metrics(roots: RootFollower) -> Iterator[Sample]:
    importer = roots.importer
    yield Sample(
        "interop_followed_block", "Number of the last L1 block whose roots are read.", roots.block
    )
    yield Sample(
        "interop_imported_block",
        "Number of the last L1 block whose root over all chains is imported.",
        importer.imported_block or 0,
    )
    yield Sample(
        "interop_roots_imported_total",
        "Roots over all chains that were imported since the start.",
        importer.imported_count,
    )
    yield Sample(
        "interop_pending_roots", "Roots over all chains that wait for a block.", importer.pending
    )


def _pending_metrics(settler: Settler) -> Iterator[Sample]:
    pending = {step: settler.pending(step) for step in SettlementStep}
    attempts = {step: found.transactions() if found else [] for step, found in pending.items()}
    for name, description, values in (
        (
            "settlement_pending_attempts",
            "Transactions that were signed for the pending operation of a step.",
            {step: len(signed) for step, signed in attempts.items()},
        ),
        (
            "settlement_pending_fee_wei",
            "Highest fee cap of the pending operation of a step, in wei per gas.",
            {step: signed[0].fees.max_fee if signed else 0 for step, signed in attempts.items()},
        ),
        (
            "settlement_fee_limited",
            "Whether a limit keeps a stuck transaction of a step from a higher fee.",
            {step: settler.is_fee_limited(step) for step in SettlementStep},
        ),
    ):
        for step, value in values.items():
            yield Sample(name, description, value, labels=_label(step))


def _label(step: SettlementStep) -> str:
    return f'step="{step.name.lower()}"'
