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


MAX_TRACE_BYTES: Final = 64 << 20
"""Bytes of struct logs that are followed: with stacks about 200,000 steps, without them more than are followed."""


WITH_STACKS: Final = msgspec.json.encode({"disableStorage": True, "limit": MAX_TRACE_BYTES})


WITHOUT_STACKS: Final = msgspec.json.encode(
    {"disableStack": True, "disableStorage": True, "limit": MAX_TRACE_BYTES}
)
"""The options of the tracer whose traces `traced_steps` reads."""


NO_STACK: Final = msgspec.Raw(b"")


class TracedStep(Step, gc=False, rename={"gas_cost": "gasCost"}):
    """One instruction, and the stack before it as JSON, its top last."""

    gas: int
    gas_cost: int = 0
    error: str | None = None
    stack: msgspec.Raw = NO_STACK

    @property
    def height(self) -> int | None:
        """How many words the stack has; None if it is not known."""
        if self.stack is NO_STACK:
            return None
        # Words are hex digits, so that quotes are only around them.
        return bytes(self.stack).count(b'"') // 2

    def words(self, count: int) -> list[int] | None:
        """Return as many words of the stack, its top first; None if it is not known or has fewer."""
        if self.stack is NO_STACK:
            return None
        found = _words(self.stack)[: -count - 1 : -1]
        return [int(word, 16) for word in found] if len(found) == count else None


_decode_steps: Final = msgspec.json.Decoder(list[TracedStep]).decode


_words: Final = msgspec.json.Decoder(list[str]).decode


def traced_steps(trace: bytes) -> Iterator[TracedStep]:
    """Yield the steps of a trace; raise `StepsTooLong` at the end if it is not complete."""
    for part in parts_of(trace, MAX_TRACE_BYTES):
        yield from _decode_steps(part)
