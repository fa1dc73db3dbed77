"""The steps of an execution with what a debugger shows of them: gas, failures and stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.sources.recording.limits import MAX_TRACE_BYTES
from entresol.sources.steps import Step, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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


_decode: Final = msgspec.json.Decoder(list[TracedStep]).decode
_words: Final = msgspec.json.Decoder(list[str]).decode


def traced_steps(trace: bytes) -> Iterator[TracedStep]:
    """Yield the steps of a trace; raise `StepsTooLong` at the end if it is not complete."""
    for part in parts_of(trace, MAX_TRACE_BYTES):
        yield from _decode(part)
