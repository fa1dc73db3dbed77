"""Storage slots of a contract's variables, for predeployed contracts in a genesis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from entresol._native import keccak256
from entresol.contracts import Artifact, Variable
from entresol.primitives.values import Hash32

Word: TypeAlias = int | bytes
"""A value that fits a slot: a number, an address or a hash."""

Value: TypeAlias = Word | str | Mapping[Word, "Value"]
"""A word, a text, or a mapping from words to words or further mappings."""

_SIMPLE: Final = r"u?int\d+|bool|address|bytes\d+|(?:contract|enum) \S+"
_WORD: Final = re.compile(_SIMPLE)
_TEXT: Final = "string"
_SHORT_TEXT: Final = 31
"""As many bytes are in the slot of a text itself, beside their number."""
_MAPPING: Final = re.compile(rf"mapping\((?:{_SIMPLE}) => (.+)\)")


def storage_of(artifact: Artifact, values: Mapping[str, Value]) -> dict[Hash32, Hash32]:
    """Return the slots that hold `values`, by variable name.

    Variables that share a slot are packed.
    """
    variables = {variable.label: variable for variable in artifact.storage_layout}
    slots: dict[int, int] = {}
    for name, value in values.items():
        if name not in variables:
            raise ValueError(f"{artifact.name} has no variable {name}")
        for slot, word in _slots_of(variables[name], value):
            slots[slot] = slots.get(slot, 0) | word
    return {Hash32(slot.to_bytes(32)): Hash32(word.to_bytes(32)) for slot, word in slots.items()}


def text_in(artifact: Artifact, name: str, storage: Mapping[Hash32, Hash32]) -> str:
    """Return the text that the slots of an account hold as a variable; empty if they hold none."""
    (slot,) = (variable.slot for variable in artifact.storage_layout if variable.label == name)
    head = _word_in(storage, slot)
    if not head[-1] & 1:
        data = head[: head[-1] // 2]
    else:
        size = min(int.from_bytes(head) // 2, 32 * len(storage))
        first = int.from_bytes(keccak256(slot.to_bytes(32)))
        words = (_word_in(storage, first + number) for number in range(-(-size // 32)))
        data = b"".join(words)[:size]
    return data.decode(errors="replace")


def _slots_of(variable: Variable, value: Value) -> list[tuple[int, int]]:
    found = _encode(variable.type, variable.slot, variable.offset, value)
    if found is None:
        raise ValueError(
            f"{variable.label} is a {variable.type}, which cannot be given as {value!r}"
        )
    return found


def _encode(kind: str, slot: int, offset: int, value: Value) -> list[tuple[int, int]] | None:
    """Return the slots of a value of type `kind`, or None if the value does not match it."""
    if isinstance(value, str):
        return _text(slot, value.encode()) if kind == _TEXT else None
    if not isinstance(value, Mapping):
        return [(slot, _number(value) << 8 * offset)] if _WORD.fullmatch(kind) else None
    mapping = _MAPPING.fullmatch(kind)
    if mapping is None:
        return None
    slots: list[tuple[int, int]] = []
    for key, inner in value.items():
        location = keccak256(_number(key).to_bytes(32) + slot.to_bytes(32))
        found = _encode(mapping[1], int.from_bytes(location), 0, inner)
        if found is None:
            return None
        slots += found
    return slots


def _text(slot: int, data: bytes) -> list[tuple[int, int]]:
    size = len(data)
    if size <= _SHORT_TEXT:
        return [(slot, int.from_bytes(data.ljust(32, b"\0")) | 2 * size)]
    first = int.from_bytes(keccak256(slot.to_bytes(32)))
    words = (data[start : start + 32].ljust(32, b"\0") for start in range(0, size, 32))
    found = [(first + number, int.from_bytes(word)) for number, word in enumerate(words)]
    return [(slot, 2 * size + 1), *found]


def _word_in(storage: Mapping[Hash32, Hash32], slot: int) -> bytes:
    return storage.get(Hash32(slot.to_bytes(32)), Hash32.zero())


def _number(word: Word) -> int:
    return word if isinstance(word, int) else int.from_bytes(word)
