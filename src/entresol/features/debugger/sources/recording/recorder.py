"""Record an execution: run it again, follow its steps, and keep what a debugger shows."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol.errors import TraceTooLarge
from entresol.execution.call_frames import CALL_FRAMES, decode_call_frame
from entresol.features.debugger.sources.frame_places import FramePlaces
from entresol.features.debugger.sources.recording.recording import (
    MAX_FOLLOWED,
    MAX_STACK_BYTES,
    MAX_STEPS,
    ExecutionRecording,
    KeptCodes,
    RecordedFrames,
    RecordedStep,
    StepRange,
    size_of,
)
from entresol.features.debugger.sources.recording.step_places import (
    GasByLine,
    OpenFunctions,
    SourceList,
    StepPlaces,
)
from entresol.features.debugger.sources.recording.storage_log import SlotKey, SlotLog
from entresol.features.debugger.sources.stack_trace import knows_any, stack_trace_of_walk
from entresol.features.debugger.sources.steps import (
    NO_STACK,
    WITH_STACKS,
    WITHOUT_STACKS,
    StepsTooLong,
    TracedStep,
    traced_steps,
)
from entresol.features.debugger.sources.walk import FrameWalk, Walker
from entresol.primitives.values import Address, Data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from entresol.execution.evm_env import State
    from entresol.features.debugger.sources.compiled import CompiledContract
    from entresol.features.debugger.sources.recording.storage_log import SlotAccess, StorageOwner
    from entresol.features.debugger.sources.registry import SourceRegistry
    from entresol.features.debugger.sources.stack_trace import StackTrace


PREIMAGES: Final = b'{"tracer":"keccak256PreimageTracer"}'

MAX_PREIMAGES: Final = 10_000
MAX_PREIMAGE: Final = 256
"""Bytes of a preimage; a longer one is not a key of a mapping that is shown."""

_SLOT: Final = 32

_decode: Final = msgspec.json.Decoder(dict[str, str]).decode


def slot_preimages(run: Callable[[bytes], bytes]) -> dict[int, bytes]:
    """Return the preimages that may be of slots, by their hashes; none if there are too many bytes of them."""
    try:
        found = _decode(run(PREIMAGES))
    except TraceTooLarge:
        return {}
    kept: dict[int, bytes] = {}
    for hashed, preimage in found.items():
        if len(kept) == MAX_PREIMAGES:
            break
        if _SLOT <= len(preimage) // 2 - 1 <= MAX_PREIMAGE:
            kept[int(hashed, 16)] = bytes(Data.parse(preimage))
    return kept


COUNTS: Final = b'{"ownTracer":"opcodeGasTracer"}'

ADDRESS_MASK: Final = (1 << 160) - 1

_WRITES: Final = frozenset(("SSTORE", "TSTORE"))
_READS: Final = frozenset(("SLOAD", "TLOAD"))
_TRANSIENT: Final = frozenset(("TLOAD", "TSTORE"))


class OpcodeCount(msgspec.Struct):
    """How often an opcode ran."""

    opcode: str
    count: int


_counts: Final = msgspec.json.Decoder(list[OpcodeCount]).decode


def record(
    sources: SourceRegistry,
    run: Callable[[bytes], bytes],
    state: State,
    code_of: Callable[[Address], bytes],
) -> ExecutionRecording:
    """Return the recording of an execution on a state that starts with some codes.

    `run` returns its trace with a tracer of these options.
    """
    counts = {count.opcode: count.count for count in _counts(run(COUNTS))}
    total = sum(counts.values())
    outermost = decode_call_frame(run(CALL_FRAMES))

    def value_before(key: SlotKey) -> int:
        address = Address.parse(key.address or "0x")
        return int.from_bytes(state.slot(address, key.slot.to_bytes(32)))

    walker = Walker(sources, code_of)
    root = FrameWalk(outermost, walker.contract_of(outermost))
    recorder = _Recorder(walker, root, total, SlotLog(value_before))
    recorder.follow(_steps(run, total))
    has_layout = any(contract.storage_layout is not None for contract in recorder.contracts())
    preimages = slot_preimages(run) if has_layout and "KECCAK256" in counts else {}
    return recorder.close(_stack_trace(walker, root), preimages)


def _steps(run: Callable[[bytes], bytes], total: int) -> Iterator[TracedStep]:
    """Yield the steps with their stacks; if they are too many, those that are not the first without them."""
    first, count = traced_steps(run(WITH_STACKS)), 0
    if total > MAX_FOLLOWED:
        yield from islice(first, MAX_STEPS // 2)
        raise StepsTooLong
    try:
        for step in first:
            yield step
            count += 1
    except StepsTooLong:
        del first
        yield from islice(traced_steps(run(WITHOUT_STACKS)), count, None)


def _stack_trace(walker: Walker, root: FrameWalk) -> StackTrace | None:
    if root.frame.error is None or not knows_any(walker, root.frame):
        return None
    return stack_trace_of_walk(walker, root)


class _Recorder:
    """Keeps the first and the last steps of an execution that is followed, and sums of all of them."""

    def __init__(self, walker: Walker, root: FrameWalk, total: int, storage: SlotLog) -> None:
        self._walker = walker
        self._root = root
        self._total = total
        self._storage = storage
        self._sources = SourceList()
        self._places = StepPlaces(self._sources)
        self._frames = RecordedFrames(root.frame)
        self._gas = GasByLine()
        self._codes = KeptCodes()
        self._read_codes = KeptCodes()
        self._open: list[_OpenFrame] = []
        is_long, half = total > MAX_STEPS, MAX_STEPS // 2
        self._head_end = half if is_long else MAX_STEPS
        self._tail_start = total - half if is_long else None
        self._head: list[RecordedStep] = []
        # There may be more steps: instructions that no fork knows are not counted.
        self._tail: deque[RecordedStep] = deque(maxlen=half)
        self._stack_bytes = 0
        self._count = 0
        self._is_complete = False

    def follow(self, steps: Iterator[TracedStep]) -> None:
        """Follow the steps as far as they are known."""
        stack = [self._root]
        try:
            for step in self._walker.follow(stack, steps):
                if not self._open or stack[-1] is not self._open[-1].walk:
                    self._change_frames(stack)
                self._add(self._open[-1], step)
        except StepsTooLong:
            for walk in stack:
                walk.forget_steps()
            self._storage.stop(self._count)
            return
        while self._open:
            self._leave()
        self._is_complete = True

    def contracts(self) -> Iterator[CompiledContract]:
        """Yield the contracts of the frames that were entered."""
        for frame in self._frames.frames:
            if frame.contract is not None:
                yield frame.contract

    def close(
        self, stack_trace: StackTrace | None, preimages: dict[int, bytes]
    ) -> ExecutionRecording:
        """Return the recording."""
        frames = self._frames.close()
        total = self._count if self._is_complete else max(self._total, self._count)
        if frames[0].first is not None:
            frames[0].last = total - 1
        ranges = [StepRange(0, self._head)]
        if self._tail:
            ranges.append(StepRange(self._count - len(self._tail), list(self._tail)))
        data_bytes = (
            self._frames.kept_bytes
            + self._codes.kept_bytes
            + self._read_codes.kept_bytes
            + self._sources.text_bytes
            + sum(map(len, preimages.values()))
        )
        return ExecutionRecording(
            total=total,
            ranges=ranges,
            frames=frames,
            omitted_frames=self._frames.omitted,
            sources=self._sources.files,
            omitted_sources=self._sources.omitted,
            gas_by_line=self._gas.lines if self._is_complete else None,
            storage=self._storage,
            preimages=preimages,
            codes=self._codes,
            read_codes=self._read_codes,
            stack_trace=stack_trace,
            size=size_of(ranges, data_bytes, len(frames), len(self._storage)),
        )

    def _change_frames(self, stack: list[FrameWalk]) -> None:
        """Leave the frames that are no longer open, and enter those that are new."""
        common = 0
        for opened, walk in zip(self._open, stack, strict=False):
            if opened.walk is not walk:
                break
            common += 1
        while len(self._open) > common:
            self._leave()
        for walk in stack[common:]:
            self._enter(walk)

    def _enter(self, walk: FrameWalk) -> None:
        index = self._frames.index(walk)
        storage = self._frames.storage(walk)
        self._open.append(_OpenFrame(walk, index, storage, OpenFunctions(walk, self._places)))
        self._storage.enter()
        self._gas.enter()
        frame = self._frames.frames[index]
        if frame.frame is walk.frame:
            frame.first = self._count
            if walk.frame.to is not None and not walk.is_creation:
                self._codes.keep(self._count, walk.frame.to, self._walker.code(walk.frame))
            if walk.contract is not None:
                frame.contract = walk.contract
                frame.function = FramePlaces(walk, walk.contract).function_name()

    def _leave(self) -> None:
        left = self._open.pop()
        frame = self._frames.frames[left.number]
        if frame.frame is left.walk.frame:
            frame.last = self._count - 1
        self._storage.leave(self._count - 1, failed=left.walk.frame.error is not None)
        self._gas.leave(int(left.walk.frame.gas_used, 16))

    def _add(self, opened: _OpenFrame, step: TracedStep) -> None:
        place = self._places.of(opened.walk, step.pc)
        function = opened.functions.at(step)
        change = self._access(opened, step)
        if step.op == "EXTCODECOPY" and (words := step.words(1)) is not None:
            address = Address((words[0] & ADDRESS_MASK).to_bytes(20))
            self._read_codes.keep(self._count, str(address), self._walker.code_of(address))
        self._gas.step(place, step)
        kept = self._kept()
        if kept is not None:
            kept.append(
                RecordedStep(
                    step.op,
                    step.pc,
                    step.gas,
                    step.gas_cost,
                    step.error,
                    opened.number,
                    function,
                    place,
                    change,
                    self._stack(step),
                )
            )
        self._count += 1

    def _kept(self) -> list[RecordedStep] | deque[RecordedStep] | None:
        """Return where the next step is kept; None if it is in the middle."""
        if self._count < self._head_end:
            return self._head
        start = self._tail_start
        return None if start is None or self._count < start else self._tail

    def _access(self, opened: _OpenFrame, step: TracedStep) -> SlotAccess | None:
        is_write = step.op in _WRITES
        if not (is_write or step.op in _READS) or step.error is not None:
            return None
        words = step.words(2 if is_write else 1)
        if words is None:
            self._storage.stop(self._count)
            return None
        key = SlotKey(opened.storage, words[0], step.op in _TRANSIENT)
        if is_write:
            return self._storage.write(self._count, key, words[1])
        self._storage.read(self._count, key)
        return None

    def _stack(self, step: TracedStep) -> bytes | None:
        if step.stack is NO_STACK:
            return None
        stack = bytes(step.stack)
        self._stack_bytes += len(stack)
        return stack if self._stack_bytes <= MAX_STACK_BYTES else None


class _OpenFrame(NamedTuple):
    """A frame that is open."""

    walk: FrameWalk
    number: int
    storage: StorageOwner
    functions: OpenFunctions
