"""Transfers of ether told as logs, in their order among the logs that contracts emit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol._native import Tracer
from entresol.execution.trace.nested_json import read_deep
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from entresol._native import Log

TRANSFER_TRACER: Final = Tracer(b'{"tracer": "callTracer", "tracerConfig": {"withLog": true}}')
"""The tracer whose trace `logs_with_transfers` reads."""

ETHER: Final = bytes([0xEE]) * 20
"""The address that seems to emit the logs of transfers."""

TRANSFER: Final = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
"""The first topic of `Transfer(address,address,uint256)`."""

# The other kinds of frame show a value that does not change hands.
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
    """Return the logs of an execution and its transfers of ether, as they happened.

    What a frame did that failed in the end, it did not do.
    """
    try:
        frame = _DECODER.decode(trace)
    except RecursionError:
        # Calls may be nested a thousand deep, and each of them is two levels of JSON.
        frame = read_deep(trace, _frame_or_log)
    return tuple(_told(frame))


def _told(frame: _Frame) -> Iterator[Log]:
    """Yield what `frame` and the calls in it did; as deep as they are, this never calls itself."""
    under_way = [_parts(frame)]
    while under_way:
        part = next(under_way[-1], None)
        if part is None:
            under_way.pop()
        elif isinstance(part, _Frame):
            under_way.append(_parts(part))
        else:
            yield part


def _parts(frame: _Frame) -> Iterator[Log | _Frame]:
    if frame.error is not None:
        return
    yield from _transfer(frame)
    # A log's position is the number of calls that the frame had made before it.
    waiting = iter(frame.logs)
    log = next(waiting, None)
    for number, inner in enumerate(frame.calls):
        while log is not None and int(log.position, 16) <= number:
            yield _log(log)
            log = next(waiting, None)
        yield inner
    while log is not None:
        yield _log(log)
        log = next(waiting, None)


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
