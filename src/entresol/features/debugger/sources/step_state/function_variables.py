"""The variables of the function that is open at a step, as far as their values are certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol.contracts.abi_registry import AbiEntry, AbiKey, argument_texts
from entresol.features.debugger.sources.definitions import CONSTRUCTOR
from entresol.features.debugger.sources.recording.step_places import NOWHERE
from entresol.features.debugger.sources.step_state.declarations import (
    DeclaredVariable,
    declarations,
)
from entresol.features.debugger.sources.step_state.storage_names import (
    WORD_BITS,
    bytes_text,
    word_text,
)
from entresol.features.debugger.sources.walk import CALLS, CREATIONS
from entresol.primitives.values import Data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from entresol.features.debugger.sources.frame_places import Located
    from entresol.features.debugger.sources.recording.recording import (
        ExecutionRecording,
        RecordedFrame,
        RecordedStep,
    )
    from entresol.features.debugger.sources.recording.step_places import OpenedFunction, StepPlace

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


MAX_BYTES: Final = 1_000
"""Bytes of a value that is in memory or in the call data; a longer one is cut."""

MAX_ITEMS: Final = 100

SELECTOR_SIZE: Final = 4

ARGUMENT: Final = "argument"
PARAMETER: Final = "parameter"
RESULT: Final = "result"
LOCAL: Final = "local"


class FunctionVariable(NamedTuple):
    """A variable, with its value as text if it is certain."""

    name: str
    type: str
    kind: str
    """`argument`, what the frame was called with; `parameter`, `result` or `local`."""
    value: str | None


def variables_at(recording: ExecutionRecording, number: int) -> list[FunctionVariable]:
    """Return the variables of the innermost function of the source before a step."""
    step = recording.step(number)
    if step is None:
        return []
    frame = recording.frames[step.frame]
    opened = _of_source(step.function)
    if opened is None or opened.located is None:
        return list(_arguments(frame))
    found = list(_declared(_Reader(recording, number, step), opened, opened.located))
    is_called = opened.count == 1 and opened.located.definition.name == frame.function
    if not is_called or any(variable.value is not None for variable in found):
        return found
    arguments = list(_arguments(frame))
    return (
        [*arguments, *(variable for variable in found if variable.kind != PARAMETER)]
        if arguments
        else found
    )


def _of_source(opened: OpenedFunction | None) -> OpenedFunction | None:
    while opened is not None and opened.located is None:
        opened = opened.outer
    return opened


def _arguments(frame: RecordedFrame) -> Iterator[FunctionVariable]:
    """Yield what a frame was called with, by the ABI."""
    contract = frame.contract
    if contract is None or not frame.has_data:
        return
    data = bytes(Data.parse(frame.frame.input))
    entry: AbiEntry | None
    if frame.function == CONSTRUCTOR:
        start = 0 if contract.creation is None else len(contract.creation.code)
        entry = _constructor(contract.abi)
    else:
        start = SELECTOR_SIZE
        entry = contract.abis.find(AbiKey("function", data[:SELECTOR_SIZE]))
    if entry is None:
        return
    texts = argument_texts(entry, data[start:])
    for place, parameter in enumerate(entry.inputs):
        value = None if texts is None else texts[place]
        yield FunctionVariable(parameter.name, parameter.type, ARGUMENT, value)


def _constructor(abi: Sequence[Mapping[str, Any]]) -> AbiEntry | None:
    found = next((entry for entry in abi if entry.get("type") == CONSTRUCTOR), None)
    try:
        return None if found is None else msgspec.convert(found, AbiEntry)
    except msgspec.ValidationError:
        return None


def _declared(
    reader: _Reader, opened: OpenedFunction, located: Located
) -> Iterator[FunctionVariable]:
    """Yield what a function declares, with the values that its part of the stack has."""
    definition, text = located.definition, located.source.text
    if text is None or located.source.is_vyper or definition.kind != "function":
        return
    found = declarations(text, definition.start, definition.end)
    if found is None:
        return
    at = _position(reader.step, opened, located)
    base = None
    if opened.height is not None and reader.is_plain:
        base = opened.height - sum(parameter.words for parameter in found.parameters)
    is_entry = reader.step.op == "JUMPDEST" and opened.height == reader.height
    in_body = at is not None
    for parameter in found.parameters:
        value = reader.value(parameter, base) if in_body or is_entry else None
        base = None if base is None else base + parameter.words
        yield FunctionVariable(parameter.name, parameter.type, PARAMETER, value)
    for result in found.results:
        value = reader.value(result, base) if in_body else None
        base = None if base is None else base + result.words
        if result.name:
            yield FunctionVariable(result.name, result.type, RESULT, value)
    for local in found.local or ():
        if at is None or not local.start <= at < local.end:
            continue
        yield FunctionVariable(local.name, local.type, LOCAL, reader.value(local, base))
        base = None if base is None else base + local.words


def _position(step: RecordedStep, opened: OpenedFunction, located: Located) -> int | None:
    """Return where in the body of the function a step is; None where the function begins or ends, or if unknown."""
    place, function = step.place, step.function
    while function is not None and function is not opened:
        place, function = function.call, function.outer
    here = place.located
    if here is None or here.is_whole:
        return None
    if here.definition == located.definition:
        return here.span.start
    # A modifier runs before and after the body, above the function's parameters and results.
    return located.definition.start if here.definition.kind == "modifier" else None


class _Reader:
    """Reads values from the stack, memory and call data before a step."""

    def __init__(self, recording: ExecutionRecording, number: int, step: RecordedStep) -> None:
        self.step = step
        self._recording = recording
        self._number = number
        self._frame = recording.frames[step.frame]
        self._words = step.words()
        self._memory: bytes | None = None
        self._has_memory = False

    @property
    def is_plain(self) -> bool:
        """Whether the compiler has put variables on the stack as the source declares them."""
        contract = self._frame.contract
        return contract is not None and contract.is_optimized is False and self._words is not None

    @property
    def height(self) -> int:
        """How many words the stack has."""
        return len(self._words or ())

    def value(self, variable: DeclaredVariable, place: int | None) -> str | None:
        """Return the value of a variable at a place of the stack; None if it is not certain."""
        words = self._words
        if place is None or words is None or not 0 <= place <= len(words) - variable.words:
            return None
        word = int(words[place], 16)
        kind, location = variable.type, variable.location
        if location == "storage":
            return f"slot {word:#x}"
        if location == "memory":
            return self._in_memory(kind, word)
        if location == "calldata":
            size = int(words[place + 1], 16) if variable.words > 1 else None
            return None if size is None else _items(kind, self._call_data, word, size)
        return _on_stack(kind, word)

    def _in_memory(self, kind: str, pointer: int) -> str | None:
        if not self._has_memory:
            self._memory, self._has_memory = memory_at(self._recording, self._number), True
        memory = self._memory
        if memory is None or pointer + WORD > len(memory):
            return None
        size = int.from_bytes(memory[pointer : pointer + WORD])
        return _items(kind, memory, pointer + WORD, size)

    @property
    def _call_data(self) -> bytes:
        if self._frame.is_creation or not self._frame.has_data:
            return b""
        return bytes(Data.parse(self._frame.frame.input))


def _on_stack(kind: str, word: int) -> str | None:
    """Return a value type, also one of the user: a contract, an enum, or another name for a type."""
    if kind.endswith("]") or kind in ("bytes", "string"):
        return None
    return _elementary(kind, word) or hex(word)


def _elementary(kind: str, word: int) -> str | None:
    """Return a value of a type of the language, where bytes are on the left of their word."""
    if kind.startswith("bytes") and kind[5:].isdecimal():
        word >>= max(0, WORD_BITS - 8 * int(kind[5:]))
    return word_text(kind, word)


def _items(kind: str, data: bytes, start: int, size: int) -> str | None:
    """Return bytes, a string, or an array of values, as they are in memory and in call data."""
    if kind in ("bytes", "string"):
        if start + size > len(data):
            return None
        text = bytes_text(data[start : start + min(size, MAX_BYTES)], is_text=kind == "string")
        return text if size <= MAX_BYTES else f"{text}…"
    if not kind.endswith("[]") or start + size * WORD > len(data):
        return None
    item = kind.removesuffix("[]")
    words = _words(data, start, min(size, MAX_ITEMS))
    # Of a type of the user the text does not tell whether it is a value or a pointer.
    shown = [_elementary(item, word) for word in words]
    if None in shown:
        return None
    return f"[{', '.join(filter(None, shown))}{', …' if size > MAX_ITEMS else ''}]"


def _words(data: bytes, start: int, count: int) -> Sequence[int]:
    places = range(start, start + count * WORD, WORD)
    return [int.from_bytes(data[at : at + WORD]) for at in places]


MAX_CALLS: Final = 100
"""Functions of a call stack; of more, as many of the outermost as of the innermost are returned."""


_MAX_FOLLOWED: Final = 3_000
"""Functions after which no frames around them are looked at."""


class OpenCall(NamedTuple):
    """A function that is open, or a frame that has none."""

    frame: int
    contract: str | None
    function: str | None
    place: StepPlace
    """Where it is, or where it has called the next one."""


def call_stack(recording: ExecutionRecording, number: int) -> list[OpenCall]:
    """Return what is open before a step, the innermost last."""
    step = recording.step(number)
    if step is None:
        return []
    found: list[OpenCall] = []
    index: int | None = step.frame
    at: RecordedStep | None = step
    while index is not None and len(found) < _MAX_FOLLOWED:
        frame = recording.frames[index]
        found += _calls(recording, index, at)
        first, index = frame.first, frame.parent
        at = None if not first else recording.step(first - 1)
        if at is not None and at.frame != index:
            at = None
    found.reverse()
    half = MAX_CALLS // 2
    return found if len(found) <= MAX_CALLS else [*found[:half], *found[-half:]]


def _calls(
    recording: ExecutionRecording, index: int, at: RecordedStep | None
) -> Iterator[OpenCall]:
    """Yield what is open in a frame at one of its steps, the innermost first."""
    frame = recording.frames[index]
    contract = None if frame.contract is None else frame.contract.name
    place = NOWHERE if at is None else at.place
    opened: OpenedFunction | None = None if at is None else at.function
    last: str | None = None
    while opened is not None:
        if opened.located is not None:
            last = opened.located.definition.name
            yield OpenCall(index, _container(opened.located, contract), last, place)
            place = opened.call
        elif place.line is None:
            place = opened.call
        opened = opened.outer
    if last is None or last != frame.function:
        yield OpenCall(index, contract, frame.function, place)


def _container(located: Located, contract: str | None) -> str | None:
    """Return the contract that runs a function: that of the code, unless it is of a library, or free."""
    container = located.definition.container
    if container is None:
        return None
    found = located.source.contract_named(container)
    return container if found is not None and found.kind == "library" else contract
