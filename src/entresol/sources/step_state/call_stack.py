"""The functions that are open at a step, in its frame and in those around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.sources.recording.step_places import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.sources.frame_places import Located
    from entresol.sources.recording.recording import ExecutionRecording, RecordedStep
    from entresol.sources.recording.step_places import OpenedFunction, StepPlace

MAX_CALLS: Final = 100
"""Functions of a call stack; of more, as many of the outermost as of the innermost are returned."""

_MAX_FOLLOWED: Final = 3_000
"""Functions after which no frames around them are looked at."""


class OpenCall(NamedTuple):
    """A function that is open, or a frame that has none."""

    frame: int
    contract: str | None
    function: str | None
    place: StepPlace
    """Where it is, or where it has called the next one."""


def call_stack(recording: ExecutionRecording, number: int) -> list[OpenCall]:
    """Return what is open before a step, the innermost last."""
    step = recording.step(number)
    if step is None:
        return []
    found: list[OpenCall] = []
    index: int | None = step.frame
    at: RecordedStep | None = step
    while index is not None and len(found) < _MAX_FOLLOWED:
        frame = recording.frames[index]
        found += _calls(recording, index, at)
        first, index = frame.first, frame.parent
        at = None if not first else recording.step(first - 1)
        if at is not None and at.frame != index:
            at = None
    found.reverse()
    half = MAX_CALLS // 2
    return found if len(found) <= MAX_CALLS else [*found[:half], *found[-half:]]


def _calls(
    recording: ExecutionRecording, index: int, at: RecordedStep | None
) -> Iterator[OpenCall]:
    """Yield what is open in a frame at one of its steps, the innermost first."""
    frame = recording.frames[index]
    contract = None if frame.contract is None else frame.contract.name
    place = NOWHERE if at is None else at.place
    opened: OpenedFunction | None = None if at is None else at.function
    last: str | None = None
    while opened is not None:
        if opened.located is not None:
            last = opened.located.definition.name
            yield OpenCall(index, _container(opened.located, contract), last, place)
            place = opened.call
        elif place.line is None:
            place = opened.call
        opened = opened.outer
    if last is None or last != frame.function:
        yield OpenCall(index, contract, frame.function, place)


def _container(located: Located, contract: str | None) -> str | None:
    """Return the contract that runs a function: that of the code, unless it is of a library, or free."""
    container = located.definition.container
    if container is None:
        return None
    found = located.source.contract_named(container)
    return container if found is not None and found.kind == "library" else contract
