"""Profiles of the transactions of a sealed block, which is executed again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from entresol.errors import DeadlinePassed, TraceTooLarge
from entresol.execution.profile import PROFILE, decode_profile
from entresol.execution.tracing import trace_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.execution.profile import Profile
    from entresol.execution.tracing import SealedBlock, TraceBudget


class ProfiledTransaction(NamedTuple):
    """A transaction and all of its gas."""

    profile: Profile
    gas_used: int


def block_profiles(block: SealedBlock, budget: TraceBudget) -> Iterator[ProfiledTransaction | None]:
    """Yield the profile of each transaction; None for one that took too long, or after which there is no room."""
    left = len(block.record.transactions)
    try:
        for traced in trace_block(block, PROFILE, budget):
            left -= 1
            if isinstance(traced.outcome, DeadlinePassed):
                yield None
            else:
                assert traced.outcome.trace is not None
                yield ProfiledTransaction(
                    decode_profile(traced.outcome.trace), traced.outcome.gas_used
                )
    except (DeadlinePassed, TraceTooLarge):
        for _ in range(left):
            yield None
