"""The functions that are open at each step of a call frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from entresol.sources.frame_places import Located
    from entresol.sources.recording.step_places import StepPlace, StepPlaces
    from entresol.sources.recording.traced_step import TracedStep
    from entresol.sources.walk import FrameWalk


class OpenedFunction(msgspec.Struct, frozen=True, gc=False):
    """A function that was entered, and those around it."""

    outer: OpenedFunction | None
    located: Located | None
    """None for one that the compiler has added."""
    call: StepPlace
    """Where it was called."""
    height: int | None
    """How many words the stack had when it was entered, with its arguments; None if the stack is not known."""
    count: int
    """How many functions of the source are open with it."""


class OpenFunctions:
    """The functions that are open in one call frame, as a chain that steps share."""

    def __init__(self, walk: FrameWalk, places: StepPlaces) -> None:
        self.innermost: OpenedFunction | None = None
        self._walk = walk
        self._places = places
        self._length = 0

    def at(self, step: TracedStep) -> OpenedFunction | None:
        """Return the innermost function at the step that the frame has followed last."""
        if step.op == "JUMP":
            # It is part of the function that it leaves.
            return self.innermost
        functions = self._walk.functions
        while self._length > len(functions):
            assert self.innermost is not None
            self.innermost = self.innermost.outer
            self._length -= 1
        if self._length < len(functions):
            self._enter(step)
        return self.innermost

    def _enter(self, step: TracedStep) -> None:
        entered, outer = self._walk.functions[-1], self.innermost
        located = self._places.of(self._walk, entered.entry).entry
        count = 0 if outer is None else outer.count
        self.innermost = OpenedFunction(
            outer,
            located,
            self._places.of(self._walk, entered.call),
            step.height,
            count + (located is not None),
        )
        self._length += 1
