"""Sum the gas of an execution by lines of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from entresol.sources.recording.step_places import StepPlace
    from entresol.sources.recording.traced_step import TracedStep


class LineGas(msgspec.Struct, gc=False):
    """The gas that the instructions of a line took, without the frames that they opened, and how many there were."""

    gas: int = 0
    steps: int = 0


class _Pending(msgspec.Struct, gc=False):
    """The last step of an open frame, whose gas is known at the next one."""

    place: StepPlace
    gas: int
    cost: int
    inner: int = 0
    """The gas of the frame that it opened."""


class GasByLine:
    """The gas of each line, as far as steps were followed."""

    def __init__(self) -> None:
        self.lines: dict[tuple[int, int], LineGas] = {}
        self._open: list[_Pending | None] = []

    def enter(self) -> None:
        """Enter a frame."""
        self._open.append(None)

    def step(self, place: StepPlace, step: TracedStep) -> None:
        """Note a step of the innermost frame."""
        pending = self._open[-1]
        if pending is not None:
            self._add(pending.place, pending.gas - step.gas - pending.inner)
        self._open[-1] = _Pending(place, step.gas, step.gas_cost)

    def leave(self, gas_used: int) -> None:
        """Leave the innermost frame, which has used as much with what is inside of it."""
        last = self._open.pop()
        if last is not None:
            self._add(last.place, last.cost)
        outer = self._open[-1] if self._open else None
        if outer is not None:
            outer.inner = gas_used

    def _add(self, place: StepPlace, gas: int) -> None:
        if place.source is None or place.line is None:
            return
        key = place.source, place.line
        sums = self.lines.get(key)
        if sums is None:
            sums = self.lines[key] = LineGas()
        sums.gas += gas
        sums.steps += 1
