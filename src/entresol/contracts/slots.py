"""Variables of a contract as slots, so that a genesis can hold what an execution would have written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from entresol._native import keccak256
from entresol.contracts import Artifact, Variable
from entresol.primitives.values import Hash32

Word: TypeAlias = int | bytes
"""A value that fits a slot: a number, an address or a hash."""

_SIMPLE: Final = r"u?int\d+|bool|address|bytes\d+|(?:contract|enum) \S+"
_WORD: Final = re.compile(_SIMPLE)
_MAPPING: Final = re.compile(rf"mapping\((?:{_SIMPLE}) => (?:{_SIMPLE})\)")


def storage_of(
    artifact: Artifact, values: Mapping[str, Word | Mapping[Word, Word]]
) -> dict[Hash32, Hash32]:
    """Return the slots in which the contract has `values` for the variables they name.

    A variable is a word, or a mapping from words to words. Variables that share a slot are packed.
    """
    variables = {variable.label: variable for variable in artifact.storage_layout}
    slots: dict[int, int] = {}
    for name, value in values.items():
        if name not in variables:
            raise ValueError(f"{artifact.name} has no variable {name}")
        for slot, word in _slots_of(variables[name], value):
            slots[slot] = slots.get(slot, 0) | word
    return {Hash32(slot.to_bytes(32)): Hash32(word.to_bytes(32)) for slot, word in slots.items()}


def _slots_of(variable: Variable, value: Word | Mapping[Word, Word]) -> list[tuple[int, int]]:
    if isinstance(value, Mapping):
        if _MAPPING.fullmatch(variable.type):
            base = variable.slot.to_bytes(32)
            return [
                (int.from_bytes(keccak256(_number(key).to_bytes(32) + base)), _number(word))
                for key, word in value.items()
            ]
    elif _WORD.fullmatch(variable.type):
        return [(variable.slot, _number(value) << 8 * variable.offset)]
    raise ValueError(f"{variable.label} is a {variable.type}, which cannot be given as {value!r}")


def _number(word: Word) -> int:
    return word if isinstance(word, int) else int.from_bytes(word)
