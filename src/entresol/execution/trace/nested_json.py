"""Decode JSON that is nested too deeply for a recursive decoder, such as a trace of nested calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def decode_nested(text: bytes, make: Callable[[dict[str, Any]], object]) -> Any:
    """Decode `text`, which must be valid JSON, and convert every object in it with `make`.

    A recursive decoder fails at Python's recursion limit; this one keeps a stack, and is about ten times
    slower.
    """
    stack: list[tuple[list[Any], bool]] = [([], False)]
    for token in _TOKEN.findall(text):
        if token in b"{[":
            stack.append(([], token == b"{"))
        elif token in b"}]":
            items, is_object = stack.pop()
            pairs = zip(items[::2], items[1::2], strict=True)
            stack[-1][0].append(make(dict(pairs)) if is_object else items)
        elif token not in b",:":
            stack[-1][0].append(msgspec.json.decode(token))
    return stack[0][0][0]
