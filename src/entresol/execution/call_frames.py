"""Call frames as values: what `callTracer` records of a transaction, decoded."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator


CALL_FRAMES: Final = b'{"tracer":"callTracer","tracerConfig":{"withLog":true}}'
"""The options of the tracer whose traces `decode_call_frame` reads."""


class FrameLog(msgspec.Struct):
    """A log of a frame; its position is the number of inner calls that precede it."""

    address: str
    topics: list[str]
    data: str
    position: str


class CallFrame(
    msgspec.Struct,
    rename={"sender": "from", "gas_used": "gasUsed", "revert_reason": "revertReason"},
):
    """A call, a creation or a self-destruct, with the frames that it opened; values are hex digits."""

    type: str
    sender: str
    to: str | None = None
    value: str = "0x0"
    gas: str = "0x0"
    gas_used: str = "0x0"
    input: str = "0x"
    output: str = "0x"
    error: str | None = None
    revert_reason: str | None = None
    logs: list[FrameLog] = []
    calls: list[CallFrame] = []

    def parts(self) -> Iterator[FrameLog | CallFrame]:
        """Yield logs and inner frames in the order in which they happened."""
        logs = iter(self.logs)
        log = next(logs, None)
        for number, inner in enumerate(self.calls):
            while log is not None and int(log.position, 16) <= number:
                yield log
                log = next(logs, None)
            yield inner
        while log is not None:
            yield log
            log = next(logs, None)


_decode: Final = msgspec.json.Decoder(CallFrame).decode


def decode_call_frame(trace: bytes) -> CallFrame:
    """Return the outermost frame of a trace."""
    try:
        return _decode(trace)
    except RecursionError:
        # Calls may be nested a thousand deep, at two levels of JSON each.
        frame: CallFrame = decode_nested(trace, _frame_or_log)
        return frame


def _frame_or_log(members: dict[str, Any]) -> CallFrame | FrameLog:
    kind: type[CallFrame | FrameLog] = FrameLog if "position" in members else CallFrame
    names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    return kind(**{name: members[key] for key, name in names if key in members})


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
