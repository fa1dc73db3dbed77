"""The engine's traces equal anvil's, except for the differences that `trace_differences` lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.support.differential.comparison import Peers, peers
from tests.support.differential.drafts import BLOCKS
from tests.support.differential.trace_differences import (
    CALL,
    DIFF,
    DIFFERENCES,
    PRESTATE,
    TOP_CALL,
    Options,
    Traced,
    adapt,
    traced,
)

pytestmark = pytest.mark.peer

MAX_STEPS = 1_000
"""Of a transaction whose stacks, memory and storage are compared at each step; a few have ten times more."""

STEPS: tuple[Options, ...] = (
    {},
    {"enableMemory": True},
    {"disableStack": True},
    {"disableStorage": True},
    {"enableReturnData": True},
    {"limit": 2_000},
)
BARE_STEPS: Options = {"disableStack": True, "disableStorage": True}
TRACERS: tuple[Options, ...] = (
    CALL,
    {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    TOP_CALL,
    PRESTATE,
    DIFF,
    {"tracer": "4byteTracer"},
    {"tracer": "flatCallTracer", "tracerConfig": {"convertParityErrors": True}},
    {"tracer": "localizedTracer"},
    {"tracer": "replayTracer", "tracerConfig": ["trace"]},
    {"tracer": "noopTracer"},
)
MUX: dict[str, Any] = {
    "callTracer": {"withLog": True},
    "flatCallTracer": {"convertParityErrors": True},
    "prestateTracer": {"diffMode": True},
    "keccak256PreimageTracer": None,
    "erc7562Tracer": {},
    "4byteTracer": None,
    "noopTracer": None,
}


@pytest.fixture(scope="module")
def sample() -> Iterator[Peers]:
    with peers("--steps-tracing") as both:
        for drafts in BLOCKS:
            both.mine(drafts)
        yield both


def steps_of(each: Traced) -> Sequence[Options]:
    """Return in which ways to compare the steps of a transaction."""
    return STEPS if len(each.ours(BARE_STEPS)["structLogs"]) <= MAX_STEPS else (BARE_STEPS,)


def test_traces_of_both_sides_are_equal_but_for_the_named_differences(sample: Peers) -> None:
    met: Counter[str] = Counter()
    for each in traced(sample):
        for options in (*steps_of(each), *TRACERS):
            theirs = adapt(each.theirs(options), each, options, met)
            assert each.ours(options) == theirs, (each.signed.kind, options)
    assert DIFFERENCES.keys() - (+met).keys() == set()


def test_a_mux_tracer_has_the_results_of_its_tracers(sample: Peers) -> None:
    """Anvil returns {} for this tracer; its parts are compared above."""
    options = {"tracer": "muxTracer", "tracerConfig": MUX}
    for each in traced(sample):
        parts = {
            name: each.ours({"tracer": name, "tracerConfig": part or {}})
            for name, part in MUX.items()
        }
        assert each.ours(options) == parts
    assert each.theirs(options) == {}
