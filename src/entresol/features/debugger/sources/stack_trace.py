"""Where in the source an execution failed: its open functions, from the outermost call to the failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import describe_revert
from entresol.execution.call_frames import CALL_FRAMES, decode_call_frame
from entresol.features.debugger.sources.frame_places import SELECTOR_SIZE, FramePlaces, SourcePlace
from entresol.features.debugger.sources.source_map import PositionMap
from entresol.features.debugger.sources.steps import STEPS, steps_of
from entresol.features.debugger.sources.walk import (
    BOOTLOADER_TEXT,
    CALLS,
    CREATIONS,
    FrameWalk,
    Walker,
)
from entresol.primitives.values import Data, Quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.execution.call_frames import CallFrame
    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.debugger.sources.walk import FrameWalk
    from entresol.primitives.values import Address


_NEAR: Final = 16
"""Steps before a revert among which its check is."""


def cause_of(walk: FrameWalk, contract: CompiledContract) -> str | None:
    """Return why the compiler's own checks let a frame revert; None if the source did."""
    if walk.code is None or not walk.last:
        return None
    places = FramePlaces(walk, contract)
    if not walk.is_creation and places.function_name() is None:
        return _missing_function(walk)
    source_map = walk.code.source_map
    if isinstance(source_map, PositionMap):
        checks = (source_map.check(step.pc) for step in reversed(walk.last[-_NEAR:]))
        return next((check for check in checks if check is not None), None)
    return _at_boundary(walk, places) or _of_call(walk)


def _missing_function(walk: FrameWalk) -> str:
    if not walk.data:
        return "there is no receive function, and no payable fallback"
    if len(walk.data) < SELECTOR_SIZE:
        return "the call data is shorter than a selector, and there is no fallback function"
    return (
        f"no function has the selector 0x{walk.data[:4].hex()}, and there is no fallback function"
    )


def _at_boundary(walk: FrameWalk, places: FramePlaces) -> str | None:
    """Return what is wrong with the value or the arguments of a call, which is checked before the function runs."""
    if len(places.open(is_call=False)) != 1:
        return None
    pcs = [walk.last[-1].pc, *(function.call for function in reversed(walk.functions))]
    found = next(filter(None, map(places.located, pcs)), None)
    if found is not None and not found.is_whole:
        return None
    value = int(Quantity.parse(walk.frame.value))
    if value and any(step.op == "CALLVALUE" for step in walk.last[-_NEAR:]):
        return f"{_what(walk)} is not payable, and was called with a value of {value} wei"
    if walk.functions or walk.is_creation:
        return f"{_what(walk)} was called with malformed arguments"
    return None


def _what(walk: FrameWalk) -> str:
    return "the constructor" if walk.is_creation else "the function"


def _of_call(walk: FrameWalk) -> str | None:
    """Return what is wrong with a call that the frame made, or was about to make."""
    assert walk.code is not None
    near = [step.op for step in walk.last[-_NEAR:]]
    made = any(op in CALLS or op in CREATIONS for op in near)
    if "EXTCODESIZE" in near and not made:
        return "a function of an account without code was called"
    if walk.call_pc is None:
        return None
    source_map = walk.code.source_map
    call, end = source_map.span(walk.call_pc), source_map.span(walk.last[-1].pc)
    helpers = [source_map.span(function.call) for function in walk.functions]
    if call != end and call not in helpers:
        return None
    inner = next((call for call in reversed(walk.frame.calls) if call.type in CALLS), None)
    if inner is not None and inner.error is not None:
        return f"a call failed: {inner.error}"
    return "a call returned less data than its function should"


MAX_FRAMES: Final = 100
"""Frames of a stack trace; of more, as many of the outermost as of the innermost are shown."""

REVERTED: Final = "execution reverted"
OUT_OF_GAS: Final = "out of gas"


class StackFrame(NamedTuple):
    """A function that was open when an execution failed; what is not known is None."""

    contract: str | None
    function: str | None
    file: str | None
    line: int | None
    address: str | None
    """The account whose code it is; a contract that could not be created has none."""

    def __str__(self) -> str:
        """Return the frame as a line of a stack trace."""
        if self.file is None:
            return f"at <unknown contract> ({self.address or 'being created'})"
        name = ".".join(part for part in (self.contract, self.function) if part)
        return f"at {name} ({self.file}{'' if self.line is None else f':{self.line}'})"


class StackTrace(NamedTuple):
    """Why and where an execution failed; the innermost frame is the last."""

    message: str
    frames: list[StackFrame]
    omitted: int = 0

    def lines(self) -> list[str]:
        """Return the trace as text."""
        frames = [f"  {frame}" for frame in self.frames]
        if self.omitted:
            frames.insert(MAX_FRAMES // 2, f"  … ({self.omitted:,} more)")
        return [self.message, *frames]


class FailureTracer:
    """Finds where executions fail.

    Assumes: a thread, since an execution is run again twice. Fails: as the execution does that it is given, with
    `DeadlinePassed` or `TraceTooLarge`.
    """

    def __init__(self, sources: SourceRegistry) -> None:
        self._sources = sources

    def trace(
        self, run: Callable[[bytes], bytes], code_of: Callable[[Address], bytes]
    ) -> StackTrace | None:
        """Return where an execution failed; None if it did not, or in no contract whose source is known.

        `run` returns the trace of the execution with a tracer of these options, the same each time; `code_of` returns
        the code of an account before it.
        """
        outermost = decode_call_frame(run(CALL_FRAMES))
        if outermost.error is None:
            return None
        walker = Walker(self._sources, code_of)
        if not knows_any(walker, outermost):
            return None
        walk = walker.walk(outermost, steps_of(run(STEPS)))
        return stack_trace_of_walk(walker, walk)


def knows_any(walker: Walker, outermost: CallFrame) -> bool:
    """Return whether a frame that failed runs code whose source is known."""
    failed: CallFrame | None = outermost
    while failed is not None:
        if walker.contract_of(failed) is not None:
            return True
        failed = _failed_inner(failed)
    return False


def stack_trace_of_walk(walker: Walker, outermost: FrameWalk) -> StackTrace:
    """Return where an execution failed that was followed to its end."""
    frames: list[StackFrame] = []
    walk, inner = outermost, _passed_on(outermost)
    while inner is not None:
        frames += _frames_of(walk, is_call=True)
        if walk.child is not None and walk.child.frame is inner:
            walk = walk.child
        else:
            walk = FrameWalk(inner, walker.contract_of(inner))
        inner = _passed_on(walk)
    frames += _frames_of(walk, is_call=False)
    omitted, half = max(0, len(frames) - MAX_FRAMES), MAX_FRAMES // 2
    if omitted:
        frames = [*frames[:half], *frames[-half:]]
    return StackTrace(_message(walk), frames, omitted)


def _frames_of(walk: FrameWalk, *, is_call: bool) -> list[StackFrame]:
    address = None if walk.is_creation else walk.frame.to
    if address == BOOTLOADER_TEXT:
        return []
    if walk.contract is None:
        return [StackFrame(None, None, None, None, address)]
    places = FramePlaces(walk, walk.contract)
    return [_frame(walk, place, address) for place in places.open(is_call=is_call)]


def _frame(walk: FrameWalk, place: SourcePlace, address: str | None) -> StackFrame:
    assert walk.contract is not None
    name: str | None = walk.contract.name
    if place.container_kind is None or place.container_kind == "library":
        name = place.container
    return StackFrame(name, place.function, place.source.name, place.line, address)


def _failed_inner(frame: CallFrame) -> CallFrame | None:
    inner = next((call for call in reversed(frame.calls) if call.type in CALLS | CREATIONS), None)
    return None if inner is None or inner.error is None else inner


def _passed_on(walk: FrameWalk) -> CallFrame | None:
    """Return the inner frame whose failure is the cause of the frame's own."""
    frame, inner = walk.frame, _failed_inner(walk.frame)
    if inner is None or frame.error is None:
        return None
    if inner.output != "0x" or frame.output != "0x":
        return inner if inner.output == frame.output else None
    if frame.error != REVERTED:
        return inner if OUT_OF_GAS in frame.error and OUT_OF_GAS in (inner.error or "") else None
    return inner if _reverts_at_call(walk) and _has_run(walk, inner) else None


def _has_run(walk: FrameWalk, inner: CallFrame) -> bool:
    return walk.child is not None and walk.child.frame is inner


def _reverts_at_call(walk: FrameWalk) -> bool:
    """Return whether the frame reverted within the expression of its last call."""
    if walk.code is None or walk.call_pc is None or not walk.last:
        return walk.contract is None
    source_map = walk.code.source_map
    call, end = source_map.span(walk.call_pc), source_map.span(walk.last[-1].pc)
    return (
        call.source == end.source and end.start <= call.start and call.end <= end.end
    ) or call == end


def _message(walk: FrameWalk) -> str:
    """Return why the innermost frame failed."""
    error, output = walk.frame.error or "", bytes(Data.parse(walk.frame.output))
    if error != REVERTED:
        return error
    if output:
        known = None if walk.contract is None else walk.contract.abis.error(output)
        return f"{REVERTED}: {known or describe_revert(output)}"
    cause = None if walk.contract is None else cause_of(walk, walk.contract)
    return REVERTED if cause is None else f"{REVERTED}: {cause}"
