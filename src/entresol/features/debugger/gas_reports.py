"""The gas that contracts have used in sealed blocks, counted by executing them again on a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import MalformedValue
from entresol.execution.tracing import TraceBudget, TraceLimits
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.execution.tracing import SealedBlock
    from entresol.features.debugger.sources.profile.counts import FileCounts
    from entresol.features.debugger.sources.profile.report import GasReport
    from entresol.features.debugger.sources.profile.totals import ProfileTotals
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.rpc.services.trace_runner import TraceRunner
    from entresol.rpc.types.block_id import BlockNumber

MAX_SECONDS: Final = 2.0
"""How long a page executes blocks."""

MAX_BLOCKS: Final = 10_000
"""Blocks of a page, most of which are empty."""

MAX_BYTES: Final = 64 << 20
MAX_FUNCTIONS: Final = 10_000
MAX_FILES: Final = 10
"""Sources of a page that a name is the end of."""


class GasPage(NamedTuple):
    """The report of some blocks, and the block that the next page begins with."""

    report: GasReport
    files: list[FileCounts]
    next_block: int | None


class GasReports:
    """Gas reports of one chain.

    Fails: as tracing does. A page has at least one block; of one that takes longer than a page may,
    the transactions at its end are left out.
    """

    def __init__(self, traces: TraceRunner, sources: SourceRegistry) -> None:
        self._traces = traces
        self._sources = sources

    def of_blocks(
        self, first: BlockNumber, last: BlockNumber, file: str | None = None
    ) -> Callable[[], GasPage]:
        """Return the work of a page of the report of some blocks, with the lines of the sources that `file` names."""
        start, end = self._traces.number(first), self._traces.number(last)
        if end < start:
            raise MalformedValue(f"is block {end}, before block {start}", field="toBlock")
        return lambda: self._page(start, end, file)

    def _page(self, first: int, last: int, file: str | None) -> GasPage:
        # Nodes that report nothing do not need it.
        from entresol.features.debugger.sources.profile.counts import SourceCounts  # noqa: PLC0415
        from entresol.features.debugger.sources.profile.report import GasReport  # noqa: PLC0415
        from entresol.features.debugger.sources.profile.totals import ProfileTotals  # noqa: PLC0415

        totals, end = ProfileTotals(MAX_FUNCTIONS), work_clock() + MAX_SECONDS
        stop = min(last, first + MAX_BLOCKS - 1)
        number = first
        while number <= stop and (number == first or work_clock() < end):
            if not self._traces.is_genesis(number) and not self._add(
                totals, self._traces.block(number), end, is_first=number == first
            ):
                break
            number += 1
        files: list[FileCounts] = []
        if file is not None:
            counted = SourceCounts.of(totals, self._sources).files
            files = [
                counted_file for counted_file in counted if counted_file.source.name.endswith(file)
            ][:MAX_FILES]
        report = GasReport.of(totals, self._sources)
        return GasPage(report, files, number if number <= last else None)

    def _add(
        self, totals: ProfileTotals, block: SealedBlock, end: float, *, is_first: bool
    ) -> bool:
        """Add a block, and return whether it is complete, or as complete as it can be."""
        from entresol.features.debugger.sources.profile.totals import (  # noqa: PLC0415
            ProfileTotals,
            block_profiles,
        )

        if not block.record.transactions:
            return True
        seconds = max(end - work_clock(), 0.001)
        budget = TraceBudget(TraceLimits(max_bytes=MAX_BYTES, seconds=seconds))
        found, left = ProfileTotals(MAX_FUNCTIONS), len(block.record.transactions)
        for block_profile in block_profiles(block, budget):
            left -= 1
            if block_profile is None:
                found.leave_out()
            else:
                found.add(*block_profile)
            if work_clock() >= end and left:
                if not is_first:
                    return False
                found.leave_out(left)
                break
        if found.left_out and not is_first and work_clock() >= end:
            return False
        totals.merge(found)
        return True
