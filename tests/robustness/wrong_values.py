"""Wrong values of every field in a JSON-RPC result: extremes, other types, missing and extra members."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

NUMBERS: Final = (0, 1, 2**63, 2**64, 2**256 - 1)
WORD: Final = 64
OTHER_TYPES: Final[tuple[Any, ...]] = (
    None,
    True,
    7,
    -1.5,
    "",
    "0x",
    "zz",
    [],
    {},
    [[]],
    {"0x1": "0x1"},
)
SHARES: Final = (0.5, 0.99, 1.01, 2.0)
"""What else a number may be, relative to the truth."""


class Wrong(NamedTuple):
    """A result that is not the truth, and what is wrong with it."""

    what: str
    result: Any


def paths(result: Any, path: Path = ()) -> Iterator[Path]:
    """Yield where a result has values, from itself to the innermost."""
    yield path
    if isinstance(result, dict):
        for name, value in result.items():
            yield from paths(value, (*path, name))
    elif isinstance(result, list):
        for index, value in enumerate(result):
            yield from paths(value, (*path, index))


def wrong_values(truth: Any) -> Iterator[Any]:
    """Yield values that could stand in place of another."""
    yield from OTHER_TYPES
    yield from map(hex, NUMBERS)
    if isinstance(truth, str) and truth.startswith("0x"):
        yield from _wrong_hex(truth)
    elif isinstance(truth, list):
        yield [*truth, *truth]
        yield truth[1:]
        yield truth[::-1]
    elif isinstance(truth, dict):
        yield {}


def _wrong_hex(truth: str) -> Iterator[str]:
    digits = truth[2:]
    if len(digits) < WORD and digits:
        for share in SHARES:
            yield hex(int(int(digits, 16) * share))
    yield from (truth + "00", truth[:-1], "0x" + digits[::-1])
    # Words, as calls and logs have them.
    for first in range(0, min(len(digits), 8 * WORD), WORD):
        for number in NUMBERS:
            yield "0x" + digits[:first] + f"{number:064x}" + digits[first + WORD :]


def value_at(result: Any, path: Path) -> Any:
    """Return the value at a path."""
    for step in path:
        result = result[step]
    return result


def with_value(result: Any, path: Path, value: Any) -> Any:
    """Return the result with another value at a path."""
    if not path:
        return copy.deepcopy(value)
    changed = copy.deepcopy(result)
    value_at(changed, path[:-1])[path[-1]] = value
    return changed


def without(result: Any, path: Path) -> Any:
    """Return the result without the member or item at a path."""
    changed = copy.deepcopy(result)
    del value_at(changed, path[:-1])[path[-1]]
    return changed


def wrong_at(result: Any, path: Path) -> Iterator[Wrong]:
    """Yield every result that is wrong at a path, and one with a member more."""
    truth = value_at(result, path)
    for value in wrong_values(truth):
        if value != truth:
            yield Wrong(f"{_name(path)}: {str(value)[:80]}", with_value(result, path, value))
    if path:
        yield Wrong(f"{_name(path)} is missing", without(result, path))
    if isinstance(truth, dict):
        more = truth | {"extra": "0x1"}
        yield Wrong(f"{_name(path)} has one more", with_value(result, path, more))


def any_wrong(result: Any, choice: random.Random) -> Wrong:
    """Return one of the wrong results."""
    path = choice.choice(list(paths(result)))
    return choice.choice(list(wrong_at(result, path)))


def _name(path: Path) -> str:
    return ".".join(map(str, path)) or "the result"
