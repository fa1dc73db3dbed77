"""The call frames of an execution as a list, in the order in which they were entered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.sources.recording.limits import MAX_DATA_BYTES, MAX_FRAMES
from entresol.sources.walk import CREATIONS

if TYPE_CHECKING:
    from entresol.execution.call_frames import CallFrame
    from entresol.sources.compiled import CompiledContract
    from entresol.sources.recording.storage_log import StorageOwner
    from entresol.sources.walk import FrameWalk

_DELEGATING = frozenset(("DELEGATECALL", "CALLCODE"))


class RecordedFrame(msgspec.Struct, gc=False):
    """A call frame: what was called, which steps it had, and whose code that was."""

    parent: int | None
    depth: int
    frame: CallFrame
    """As traced, without the inner frames; input and output are cut off if there are too many bytes of them."""
    storage: StorageOwner
    """Whose storage it uses."""
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
    """The frames of one execution."""

    def __init__(self, outermost: CallFrame) -> None:
        self.frames: list[RecordedFrame] = []
        self.omitted = 0
        self.kept_bytes = 0
        self._indexes: dict[int, int] = {}
        self._storages: dict[int, StorageOwner] = {}
        pending: list[tuple[CallFrame, CallFrame | None]] = [(outermost, None)]
        while pending:
            frame, outer = pending.pop()
            self._storages[id(frame)] = self._owner(frame, outer)
            self._add(frame, None if outer is None else self._indexes[id(outer)])
            pending += [(call, frame) for call in reversed(frame.calls)]

    def index(self, walk: FrameWalk) -> int:
        """Return the place of a frame, or of the one around it that has one."""
        return self._indexes[id(walk.frame)]

    def storage(self, walk: FrameWalk) -> StorageOwner:
        """Return whose storage a frame uses."""
        return self._storages[id(walk.frame)]

    def _owner(self, frame: CallFrame, outer: CallFrame | None) -> StorageOwner:
        if outer is not None and frame.type in _DELEGATING:
            return self._storages[id(outer)]
        return len(self._storages) if frame.to is None else frame.to

    def _add(self, frame: CallFrame, parent: int | None) -> None:
        if len(self.frames) == MAX_FRAMES:
            assert parent is not None
            self.omitted += 1
            self._indexes[id(frame)] = parent
            return
        outer = None if parent is None else self.frames[parent]
        size = len(frame.input) + len(frame.output)
        has_data = self.kept_bytes + size <= MAX_DATA_BYTES
        self.kept_bytes += size if has_data else 0
        self.frames.append(
            RecordedFrame(
                parent,
                1 if outer is None else outer.depth + 1,
                frame,
                self._storages[id(frame)],
                len(frame.input) // 2 - 1,
                len(frame.output) // 2 - 1,
                has_data,
            )
        )
        self._indexes[id(frame)] = len(self.frames) - 1

    def close(self) -> list[RecordedFrame]:
        """Return the frames, without what is only needed while steps are followed."""
        for frame in self.frames:
            frame.frame = without_inner(frame.frame, keep_data=frame.has_data)
        self._indexes.clear()
        self._storages.clear()
        return self.frames


def without_inner(frame: CallFrame, *, keep_data: bool) -> CallFrame:
    """Return a frame without its inner frames and logs."""
    data = {} if keep_data else {"input": "0x", "output": "0x"}
    return msgspec.structs.replace(frame, calls=[], logs=[], **data)
