"""The call frames of an execution as a list, in the order in which they were entered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.sources.recording.limits import MAX_DATA_BYTES, MAX_FRAMES
from entresol.sources.walk import CREATIONS

if TYPE_CHECKING:
    from entresol.execution.trace.call_frames import CallFrame
    from entresol.sources.compiled import CompiledContract
    from entresol.sources.walk import FrameWalk

_DELEGATING = frozenset(("DELEGATECALL", "CALLCODE"))


class RecordedFrame(msgspec.Struct, gc=False):
    """A call frame: what was called, which steps it had, and whose code that was."""

    parent: int | None
    depth: int
    frame: CallFrame
    """As traced, without the inner frames; input and output are cut off if there are too many bytes of them."""
    storage_address: str | None
    """The account whose storage it uses."""
    input_size: int
    output_size: int
    has_data: bool
    """Whether input and output are kept."""
    first: int | None = None
    last: int | None = None
    contract: CompiledContract | None = None
    function: str | None = None

    @property
    def is_creation(self) -> bool:
        """Whether it runs the code that creates a contract."""
        return self.frame.type in CREATIONS


class RecordedFrames:
    """The frames of one execution.

    Remembers: as many of the first as there is room for, without what is inside of them. Fails: never.
    """

    def __init__(self, outermost: CallFrame) -> None:
        self.frames: list[RecordedFrame] = []
        self.omitted = 0
        self.kept_bytes = 0
        self._indexes: dict[int, int] = {}
        pending: list[tuple[CallFrame, int | None]] = [(outermost, None)]
        while pending:
            frame, parent = pending.pop()
            index = self._add(frame, parent)
            pending += [(it, index) for it in reversed(frame.calls)]

    def index(self, walk: FrameWalk) -> int:
        """Return the place of a frame, or of the one around it that has one."""
        return self._indexes[id(walk.frame)]

    def _add(self, frame: CallFrame, parent: int | None) -> int:
        if len(self.frames) == MAX_FRAMES:
            assert parent is not None
            self.omitted += 1
            self._indexes[id(frame)] = parent
            return parent
        outer = None if parent is None else self.frames[parent]
        address = frame.to
        if outer is not None and frame.type in _DELEGATING:
            address = outer.storage_address
        size = len(frame.input) + len(frame.output)
        has_data = self.kept_bytes + size <= MAX_DATA_BYTES
        self.kept_bytes += size if has_data else 0
        self.frames.append(
            RecordedFrame(
                parent,
                1 if outer is None else outer.depth + 1,
                frame,
                address,
                len(frame.input) // 2 - 1,
                len(frame.output) // 2 - 1,
                has_data,
            )
        )
        self._indexes[id(frame)] = len(self.frames) - 1
        return len(self.frames) - 1

    def close(self) -> list[RecordedFrame]:
        """Return the frames, without what is only needed while steps are followed."""
        for it in self.frames:
            it.frame = without_inner(it.frame, keep_data=it.has_data)
        self._indexes.clear()
        return self.frames


def without_inner(frame: CallFrame, *, keep_data: bool) -> CallFrame:
    """Return a frame without its inner frames and logs."""
    data = {} if keep_data else {"input": "0x", "output": "0x"}
    return msgspec.structs.replace(frame, calls=[], logs=[], **data)
