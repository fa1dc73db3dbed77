"""A recording: an execution as a debugger shows it."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.errors import DeadlinePassed
from entresol.features.debugger.errors import StepNotRecorded
from entresol.features.debugger.sources.walk import CREATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from entresol.execution.call_frames import CallFrame
    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.recording.step_places import (
        LineGas,
        OpenedFunction,
        StepPlace,
    )
    from entresol.features.debugger.sources.recording.storage_log import (
        SlotAccess,
        SlotLog,
        StorageOwner,
    )
    from entresol.features.debugger.sources.source_file import SourceFile
    from entresol.features.debugger.sources.stack_trace import StackTrace
    from entresol.features.debugger.sources.walk import FrameWalk
    from entresol.primitives.values import Hash32

_DELEGATING = frozenset(("DELEGATECALL", "CALLCODE"))


class RecordedFrame(msgspec.Struct, gc=False):
    """A call frame: what was called, which steps it had, and whose code that was."""

    parent: int | None
    depth: int
    frame: CallFrame
    """As traced, without the inner frames; input and output are cut off if there are too many bytes of them."""
    storage: StorageOwner
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


MAX_STEPS: Final = 20_000
"""Steps that are kept; of more, as many of the first as of the last."""

MAX_FOLLOWED: Final = 250_000
"""Steps of an execution that is followed to its end; of a longer one, only the first that are kept."""


MAX_STACK_BYTES: Final = 24 << 20
"""Bytes of the stacks that are kept of one execution, as JSON."""

MAX_FRAMES: Final = 5_000
"""Call frames that are kept; steps of others belong to the frame around them."""

MAX_DATA_BYTES: Final = 4 << 20
"""Bytes of the inputs and the outputs of frames that are kept."""


MAX_RECORDINGS: Final = 16
MAX_RECORDED_BYTES: Final = 64 << 20
"""Recordings that are kept at the same time, and the bytes of all of them; the last one is always kept."""


class KeptCodes:
    """Codes by their accounts, for what steps copy of them; an account may have another one later."""

    def __init__(self) -> None:
        self.kept_bytes = 0
        self._codes: dict[str, list[tuple[int, bytes | None]]] = {}

    def keep(self, step: int, account: str, code: bytes) -> None:
        """Keep the code that an account has from a step on."""
        known = self._codes.setdefault(account, [])
        if known and known[-1][1] == code:
            return
        has_room = self.kept_bytes + len(code) <= MAX_DATA_BYTES
        self.kept_bytes += len(code) if has_room else 0
        known.append((step, code if has_room else None))

    def at(self, step: int, account: str) -> bytes | None:
        """Return the code that an account has at a step; None if it is not kept."""
        known = self._codes.get(account, ())
        return next((code for since, code in reversed(known) if since <= step), None)


_STEP_BYTES = 200
"""The bytes that a step takes in memory, without its stack."""
_FRAME_BYTES = 600
_ACCESS_BYTES = 250


_words = msgspec.json.Decoder(list[str]).decode


class RecordedStep(msgspec.Struct, gc=False, frozen=True):
    """One instruction, and where it is."""

    op: str
    pc: int
    gas: int
    cost: int
    error: str | None
    frame: int
    function: OpenedFunction | None
    """The innermost function that is open in its frame."""
    place: StepPlace
    change: SlotAccess | None
    stack: bytes | None
    """The stack before it, as JSON; None if it is not kept."""

    @property
    def functions(self) -> int:
        """How many functions of the source are open in its frame."""
        return 0 if self.function is None else self.function.count

    def words(self) -> list[str] | None:
        """Return the stack before it, its top last; None if it is not kept."""
        return None if self.stack is None else _words(self.stack)


class StepRange(NamedTuple):
    """Steps that follow each other, and the number of the first."""

    first: int
    steps: Sequence[RecordedStep]

    @property
    def end(self) -> int:
        """The number after the last one."""
        return self.first + len(self.steps)


class ExecutionRecording(NamedTuple):
    """An execution, with the steps that are kept of it."""

    total: int
    ranges: Sequence[StepRange]
    frames: Sequence[RecordedFrame]
    omitted_frames: int
    sources: Sequence[SourceFile]
    omitted_sources: int
    gas_by_line: dict[tuple[int, int], LineGas] | None
    """By source and line; None if not all steps were followed."""
    storage: SlotLog
    preimages: Mapping[int, bytes]
    """The data that was hashed to find slots, by the hashes."""
    codes: KeptCodes
    read_codes: KeptCodes
    """The codes that were read; a delegated account runs another one."""
    stack_trace: StackTrace | None
    size: int

    @property
    def is_optimized(self) -> bool | None:
        """Whether an optimizer has moved instructions; None if that is not known, or no source is."""
        known = [frame.contract.is_optimized for frame in self.frames if frame.contract is not None]
        if True in known:
            return True
        return None if None in known or not known else False

    def step(self, number: int) -> RecordedStep | None:
        """Return a step, if it is kept."""
        found = self.range_at(number)
        return None if found is None else found.steps[number - found.first]

    def known_range(self, step: int) -> StepRange:
        """Return the range that has a step; raise `StepNotRecorded` if there is none."""
        found = self.range_at(step)
        if found is None:
            ranges = [
                f"{range_.first:d} to {range_.end - 1:d}" for range_ in self.ranges if range_.steps
            ]
            raise StepNotRecorded(step, self.total, " and ".join(ranges))
        return found

    def range_at(self, step: int) -> StepRange | None:
        """Return the range that has a step."""
        return next((range_ for range_ in self.ranges if range_.first <= step < range_.end), None)


def size_of(ranges: Sequence[StepRange], data_bytes: int, frames: int, accesses: int) -> int:
    """Return about how many bytes a recording takes: steps with stacks, frames, accesses, and what else is kept."""
    stacks = sum(len(step.stack or b"") for range_ in ranges for step in range_.steps)
    steps = sum(len(range_.steps) for range_ in ranges)
    fixed = steps * _STEP_BYTES + frames * _FRAME_BYTES + accesses * _ACCESS_BYTES
    return stacks + fixed + data_bytes


class RecordingKey(NamedTuple):
    """The key of a recording: a transaction of a block, with the sources that were known."""

    block: Hash32
    transaction: Hash32
    sources: int


class Recordings:
    """Recordings by what they are of, as many as there is room for.

    Fails: with `DeadlinePassed` if others take too long, or as recording does. Any thread may use it; one recording is
    made at a time, since making one takes memory.
    """

    def __init__(self) -> None:
        self._recordings: OrderedDict[RecordingKey, ExecutionRecording] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self._making = Lock()

    def get(
        self, key: RecordingKey, make: Callable[[], ExecutionRecording], seconds: float
    ) -> ExecutionRecording:
        """Return a recording, which is made if it is not there; wait at most some seconds for others that are made."""
        found = self._find(key)
        if found is not None:
            return found
        if not self._making.acquire(timeout=seconds):
            raise DeadlinePassed("other executions are recorded: try again")
        try:
            found = self._find(key)
            if found is None:
                found = make()
                self._keep(key, found)
            return found
        finally:
            self._making.release()

    def _find(self, key: RecordingKey) -> ExecutionRecording | None:
        with self._lock:
            found = self._recordings.get(key)
            if found is not None:
                self._recordings.move_to_end(key)
            return found

    def _keep(self, key: RecordingKey, recording: ExecutionRecording) -> None:
        with self._lock:
            self._recordings[key] = recording
            self._bytes += recording.size
            while len(self._recordings) > 1 and (
                len(self._recordings) > MAX_RECORDINGS or self._bytes > MAX_RECORDED_BYTES
            ):
                self._bytes -= self._recordings.popitem(last=False)[1].size
