"""Why code reverted without a reason: what the compiler checks on its own leaves none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.primitives.values import Quantity
from entresol.sources.frame_places import SELECTOR_SIZE, FramePlaces
from entresol.sources.source_map import PositionMap
from entresol.sources.walk import CALLS, CREATIONS

if TYPE_CHECKING:
    from entresol.sources.compiled import CompiledContract
    from entresol.sources.walk import FrameWalk

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
