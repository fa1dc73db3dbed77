"""The memory of a call frame at a step, from what its steps before have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.primitives.values import Data
from entresol.sources.walk import CALLS, CREATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.sources.recording.recording import ExecutionRecording, RecordedFrame, RecordedStep

MAX_MEMORY: Final = 8 << 20
"""Bytes of memory that are built; of a frame with more, none is known."""

WORD: Final = 32
ADDRESS_MASK: Final = (1 << 160) - 1

_READS: Final = {
    "KECCAK256": (0, 1),
    "RETURN": (0, 1),
    "REVERT": (0, 1),
    "LOG0": (0, 1),
    "LOG1": (0, 1),
    "LOG2": (0, 1),
    "LOG3": (0, 1),
    "LOG4": (0, 1),
    "CREATE": (1, 2),
    "CREATE2": (1, 2),
}
"""Where on the stack are offset and size of the memory that an instruction reads."""
_CALL_MEMORY: Final = {
    "CALL": (3, 4, 5, 6),
    "CALLCODE": (3, 4, 5, 6),
    "DELEGATECALL": (2, 3, 4, 5),
    "STATICCALL": (2, 3, 4, 5),
}
"""Where are offset and size of what a call reads, and of what it writes."""
_COPIES: Final = frozenset(("CALLDATACOPY", "CODECOPY", "RETURNDATACOPY", "EXTCODECOPY", "MCOPY"))
_OTHERS: Final = frozenset(("MSTORE", "MSTORE8", "MLOAD"))
_TOUCHING: Final = frozenset((*_READS, *_CALL_MEMORY, *_COPIES, *_OTHERS))


class _Unknown(Exception):  # noqa: N818 - it is not an error of the node
    """Something that was written is not recorded."""


def memory_at(recording: ExecutionRecording, number: int) -> bytes | None:
    """Return the memory before a step; None if not all that was written before is recorded."""
    step = recording.step(number)
    if step is None:
        return None
    try:
        memory = _FrameMemory(recording, step.frame)
        for numbered in _steps_before(recording, step.frame, number):
            memory.follow(*numbered)
    except _Unknown:
        return None
    return bytes(memory.content)


def _steps_before(
    recording: ExecutionRecording, frame: int, number: int
) -> Iterator[tuple[int, RecordedStep]]:
    """Yield the steps of a frame with their numbers, from its first one to that before a step."""
    first = recording.frames[frame].first
    found = None if first is None else recording.range_at(first)
    if first is None or found is None or found is not recording.range_at(number):
        raise _Unknown
    for at, step in enumerate(found.steps[first - found.first : number - found.first], first):
        if step.frame == frame:
            yield at, step


class _FrameMemory:
    """The memory of a frame while its steps are followed. Fails: with `_Unknown`."""

    def __init__(self, recording: ExecutionRecording, frame: int) -> None:
        self.content = bytearray()
        self._recording = recording
        self._frame = recording.frames[frame]
        if recording.omitted_frames or not self._frame.has_data:
            # Its steps may be those of frames inside.
            raise _Unknown
        self._inner = iter(
            [
                inner
                for inner in recording.frames[frame + 1 :]
                if inner.parent == frame and inner.frame.type in CALLS | CREATIONS
            ]
        )
        self._input = bytes(Data.parse(self._frame.frame.input))
        self._returned = b""

    def follow(self, number: int, step: RecordedStep) -> None:
        """Follow a step, if it reads or writes memory."""
        op = step.op
        if op not in _TOUCHING or step.error is not None:
            return
        words = step.words()
        if words is None:
            raise _Unknown

        def top(place: int) -> int:
            return int(words[-1 - place], 16)

        if op == "MSTORE":
            self._write(top(0), top(1).to_bytes(WORD))
        elif op == "MSTORE8":
            self._write(top(0), bytes([top(1) & 0xFF]))
        elif op == "MLOAD":
            self._expand(top(0), WORD)
        elif op in _COPIES:
            self._copy(number, op, top)
        elif op in _CALL_MEMORY:
            read, read_size, written, written_size = map(top, _CALL_MEMORY[op])
            self._expand(read, read_size)
            self._expand(written, written_size)
            self._returned = self._result(op)
            self._write(written, self._returned[:written_size])
        else:
            self._expand(*map(top, _READS[op]))
            if op in CREATIONS:
                self._returned = self._result(op)

    def _copy(self, number: int, op: str, top: Callable[[int], int]) -> None:
        if op == "MCOPY":
            target, start, size = top(0), top(1), top(2)
            self._expand(max(target, start), size)
            self._write(target, bytes(self.content[start : start + size]))
            return
        shift = 1 if op == "EXTCODECOPY" else 0
        target, start, size = top(shift), top(shift + 1), top(shift + 2)
        self._expand(target, size)
        if not size:
            return
        if op == "CALLDATACOPY":
            data = b"" if self._frame.is_creation else self._input
        elif op == "CODECOPY":
            data = self._input if self._frame.is_creation else self._code(number)
        elif op == "RETURNDATACOPY":
            data = self._returned
        else:
            address = (top(0) & ADDRESS_MASK).to_bytes(20)
            data = _known(self._recording.read_codes.at(number, f"0x{address.hex()}"))
        self._write(target, data[start : start + size].ljust(size, b"\0"))

    def _code(self, number: int) -> bytes:
        address = self._frame.frame.to
        return _known(None if address is None else self._recording.codes.at(number, address))

    def _result(self, op: str) -> bytes:
        """Return what the next frame inside has returned."""
        inner: RecordedFrame | None = next(self._inner, None)
        if inner is None or inner.frame.type != op or not inner.has_data:
            raise _Unknown
        if inner.is_creation and inner.frame.error is None:
            return b""
        return bytes(Data.parse(inner.frame.output))

    def _expand(self, start: int, size: int) -> None:
        """Add words, so that a part of the memory is there."""
        if not size:
            return
        end = -(-(start + size) // WORD) * WORD
        if end > MAX_MEMORY:
            raise _Unknown
        if end > len(self.content):
            self.content.extend(bytes(end - len(self.content)))

    def _write(self, start: int, data: bytes) -> None:
        self._expand(start, len(data))
        if data:
            self.content[start : start + len(data)] = data


def _known(data: bytes | None) -> bytes:
    if data is None:
        raise _Unknown
    return data
