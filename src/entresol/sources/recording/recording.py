"""A recording: an execution as a debugger shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from entresol.errors import StepNotRecorded
from entresol.sources.recording.limits import MAX_DATA_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from entresol.sources.recording.line_gas import LineGas
    from entresol.sources.recording.open_functions import OpenedFunction
    from entresol.sources.recording.recorded_frames import RecordedFrame
    from entresol.sources.recording.step_places import StepPlace
    from entresol.sources.recording.storage_log import SlotAccess, SlotLog
    from entresol.sources.source_file import SourceFile
    from entresol.sources.stack_trace import StackTrace


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
"""What a step takes in memory, without its stack."""
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
    """The slot that it writes."""
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
    """How many steps there were."""
    ranges: Sequence[StepRange]
    frames: Sequence[RecordedFrame]
    omitted_frames: int
    sources: Sequence[SourceFile]
    omitted_sources: int
    gas_by_line: dict[tuple[int, int], LineGas] | None
    """By source and line; None if not all steps were followed."""
    storage: SlotLog
    preimages: Mapping[int, bytes]
    """What was hashed to find slots, by the hashes."""
    codes: KeptCodes
    """The codes that were run."""
    read_codes: KeptCodes
    """The codes that were read; a delegated account runs another one."""
    stack_trace: StackTrace | None
    size: int
    """About how many bytes it takes."""

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
