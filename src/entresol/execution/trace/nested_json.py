"""Reading JSON that is nested deeper than a decoder goes, such as the trace of calls within calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def read_deep(text: bytes, make: Callable[[dict[str, Any]], object]) -> Any:
    """Return what `text` says, with `make` of every object in it; `text` must be sound JSON.

    A decoder that calls itself for each level ends at Python's limit of recursion; this one keeps what
    is open in a list. It is some ten times slower.
    """
    opened: list[tuple[list[Any], bool]] = [([], False)]
    for token in _TOKEN.findall(text):
        if token in b"{[":
            opened.append(([], token == b"{"))
        elif token in b"}]":
            items, is_object = opened.pop()
            pairs = zip(items[::2], items[1::2], strict=True)
            opened[-1][0].append(make(dict(pairs)) if is_object else items)
        elif token not in b",:":
            opened[-1][0].append(msgspec.json.decode(token))
    return opened[0][0][0]
