"""A fork of a remote that rate-limits, reorganises, dies and lies: each response is right, or names the remote."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median

import msgspec
import pytest

from tests.support.fork.soak import SoakReport, soak

pytestmark = pytest.mark.peer

SHORT_SECONDS = 4.0
SOAK_SECONDS = float(os.environ.get("ENTRESOL_FORK_SOAK_SECONDS", "600"))
"""How long the soak of `make test-long` lasts; `make fork-soak` sets an hour."""
MAX_GROWTH = 32
"""Mebibytes that the second half of a soak may have more than the first, as a rule."""
MAX_PEAK = 256
"""Mebibytes that it may have more than at its start, while large bodies are received."""


def check(report: SoakReport) -> None:
    assert not report.wrong, (len(report.wrong), report.wrong[:20])
    assert report.right
    assert "Traceback" not in report.log, report.log[-10_000:]


@pytest.mark.slow
def test_whatever_the_remote_does_responses_are_right_or_name_it(tmp_path: Path) -> None:
    check(soak(0, SHORT_SECONDS, tmp_path))


@pytest.mark.slow
def test_a_soak_of_any_length_of_time_takes_no_more_memory(tmp_path: Path) -> None:
    report = soak(1, SOAK_SECONDS, tmp_path)
    sys.stderr.write(f"{msgspec.structs.replace(report, log='')}\n")
    check(report)
    memory, half = report.memory, len(report.memory) // 2
    assert median(memory[half:]) <= median(memory[:half]) + MAX_GROWTH
    assert max(memory) <= memory[0] + MAX_PEAK
