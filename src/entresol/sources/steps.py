"""The steps of an execution, as the node's own struct logs have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_STEP_BYTES: Final = 32 << 20
"""Bytes of struct logs of one execution: about 400,000 steps."""

STEPS: Final = msgspec.json.encode(
    {"disableStack": True, "disableStorage": True, "limit": MAX_STEP_BYTES}
)
"""The options of the tracer whose traces `steps_of` reads."""

CHUNK: Final = 32 << 10
"""Bytes that are decoded at once, since decoding holds the GIL."""

_OPENING: Final = b'{"structLogs":['
_BOUNDARY: Final = b',{"pc":'
_CLOSING: Final = b'],"gas":'


class Step(msgspec.Struct, gc=False):
    """One instruction: where in the code it is, and how many frames are open."""

    pc: int
    op: str
    depth: int


_decode: Final = msgspec.json.Decoder(list[Step]).decode


class StepsTooLong(Exception):  # noqa: N818 - it is not an error of the node
    """The execution has more steps than are recorded."""


def steps_of(trace: bytes) -> Iterator[Step]:
    """Yield the steps of a trace; raise `StepsTooLong` at the end if it is not complete."""
    for part in parts_of(trace, MAX_STEP_BYTES):
        yield from _decode(part)


def parts_of(trace: bytes, limit: int) -> Iterator[bytes]:
    """Yield a trace as JSON arrays of some steps each; raise `StepsTooLong` at the end if `limit` has cut it."""
    start, last = len(_OPENING), trace.rindex(_CLOSING)
    is_cut = last - start > limit
    while start < last:
        found = trace.find(_BOUNDARY, min(start + CHUNK, last), last)
        end = last if found < 0 else found
        yield b"[%b]" % trace[start:end]
        start = end + 1
    if is_cut:
        raise StepsTooLong
