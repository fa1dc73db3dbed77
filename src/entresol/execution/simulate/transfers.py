"""ETH transfers as synthetic `Transfer` logs among the logs of an execution (`traceTransfers`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import Tracer
from entresol.execution.trace.nested_json import decode_nested
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from entresol._native import Log

TRANSFER_TRACER: Final = Tracer(b'{"tracer": "callTracer", "tracerConfig": {"withLog": true}}')
"""The tracer whose output `logs_with_transfers` decodes."""

ETHER: Final = bytes([0xEE]) * 20
"""The address that the synthetic logs name as their emitter."""

TRANSFER: Final = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
"""The first topic of `Transfer(address,address,uint256)`."""

# Frames of the other types carry a value that is not transferred.
_MOVING: Final = frozenset({"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"})


class _TracedLog(msgspec.Struct):
    address: str
    topics: list[str]
    data: str
    position: str


class _Frame(msgspec.Struct, rename={"sender": "from"}):
    type: str
    sender: str
    to: str | None = None
    value: str = "0x0"
    error: str | None = None
    logs: list[_TracedLog] = []
    calls: list[_Frame] = []


_DECODER: Final = msgspec.json.Decoder(_Frame)


def logs_with_transfers(trace: bytes) -> tuple[Log, ...]:
    """Return the logs of an execution and its ETH transfers, in order; failed frames have none."""
    try:
        frame = _DECODER.decode(trace)
    except RecursionError:
        # Calls may be nested a thousand deep, at two levels of JSON each.
        frame = decode_nested(trace, _frame_or_log)
    return tuple(_flatten(frame))


def _flatten(frame: _Frame) -> Iterator[Log]:
    """Yield the logs of `frame` and its inner calls; iterative, since they may be nested deeply."""
    stack = [_parts(frame)]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif isinstance(part, _Frame):
            stack.append(_parts(part))
        else:
            yield part


def _parts(frame: _Frame) -> Iterator[Log | _Frame]:
    if frame.error is not None:
        return
    yield from _transfer(frame)
    # A log's position is the number of inner calls that precede it.
    logs = iter(frame.logs)
    log = next(logs, None)
    for number, inner in enumerate(frame.calls):
        while log is not None and int(log.position, 16) <= number:
            yield _log(log)
            log = next(logs, None)
        yield inner
    while log is not None:
        yield _log(log)
        log = next(logs, None)


def _frame_or_log(members: dict[str, Any]) -> _Frame | _TracedLog:
    kind: type[_Frame | _TracedLog] = _TracedLog if "position" in members else _Frame
    names = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    return kind(**{name: members[key] for key, name in names if key in members})


def _transfer(frame: _Frame) -> Iterator[Log]:
    value = Quantity.parse(frame.value)
    if value and frame.type in _MOVING and frame.to is not None:
        parties = (_word(frame.sender), _word(frame.to))
        yield ETHER, (TRANSFER, *parties), value.to_bytes(32)


def _word(address: str) -> bytes:
    return Address.parse(address).rjust(32, b"\0")


def _log(log: _TracedLog) -> Log:
    topics = tuple(bytes(Hash32.parse(topic)) for topic in log.topics)
    return bytes(Address.parse(log.address)), topics, bytes(Data.parse(log.data))
