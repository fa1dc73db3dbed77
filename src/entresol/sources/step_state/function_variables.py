"""The variables of the function that is open at a step, as far as their values are certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from entresol.contracts.abi_registry import AbiEntry, AbiKey, argument_texts
from entresol.primitives.values import Data
from entresol.sources.definitions import CONSTRUCTOR
from entresol.sources.step_state.declarations import DeclaredVariable, declarations
from entresol.sources.step_state.frame_memory import memory_at
from entresol.sources.step_state.storage_names import WORD_BITS, bytes_text, word_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from entresol.sources.frame_places import Located
    from entresol.sources.recording.recording import ExecutionRecording, RecordedFrame, RecordedStep
    from entresol.sources.recording.step_places import OpenedFunction

MAX_BYTES: Final = 1_000
"""Bytes of a value that is in memory or in the call data; a longer one is cut."""

MAX_ITEMS: Final = 100

WORD: Final = 32
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
    for place, it in enumerate(entry.inputs):
        value = None if texts is None else texts[place]
        yield FunctionVariable(it.name, it.type, ARGUMENT, value)


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
