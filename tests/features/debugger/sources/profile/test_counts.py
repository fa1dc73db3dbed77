"""What ran of each line and of each function."""

from __future__ import annotations

import pytest

from entresol.features.debugger.sources.profile.counts import PlaceCounts, SourceCounts
from entresol.features.debugger.sources.profile.totals import ProfileTotals
from entresol.features.debugger.sources.registry import SourceRegistry
from tests.support.contracts.shop import FILE


@pytest.fixture
def counts(totals: ProfileTotals, sources: SourceRegistry) -> SourceCounts:
    return SourceCounts.of(totals, sources)


def line(counts: SourceCounts, text: str) -> PlaceCounts | None:
    (file,) = counts.files
    lines = (file.source.text or b"").decode().splitlines()
    return file.lines.get(next(at for at, it in enumerate(lines, 1) if text in it))


def test_a_line_has_how_often_it_ran_and_its_gas(counts: SourceCounts) -> None:
    # Three calls bought something, and one did not send enough.
    assert line(counts, "if (msg.value < price)") == PlaceCounts(4, 99, 0)
    found = line(counts, "revert TooLittle")
    assert found is not None
    assert found.executions == 1


def test_the_lines_of_a_proxys_target_are_counted_where_they_are_written(
    counts: SourceCounts,
) -> None:
    found = line(counts, "        prices.push(price);")
    assert found is not None
    assert found.executions == 3


def test_functions_have_the_gas_of_their_lines_also_private_ones(counts: SourceCounts) -> None:
    (file,) = counts.files
    assert file.source.name == FILE
    thank = next(function for function in file.functions if function.name == "_thank")
    body = line(counts, "bought[address(0)] += 1")
    assert body is not None
    assert file.functions[thank].executions == 3
    assert file.functions[thank].gas == body.gas + 27


def test_all_gas_of_known_codes_is_counted_once(
    totals: ProfileTotals, counts: SourceCounts
) -> None:
    lines = sum(it.gas for file in counts.files for it in file.lines.values())
    assert lines + counts.unmapped == sum(sum(code.gas.values()) for code in totals.codes.values())


def test_without_sources_there_is_none(totals: ProfileTotals) -> None:
    assert SourceCounts.of(totals, SourceRegistry()).files == []
