"""ETH transfers as synthetic `Transfer` logs among the logs of an execution (`traceTransfers`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from entresol._native import Tracer
from entresol.execution.trace.call_frames import CALL_FRAMES, CallFrame, FrameLog, decode_call_frame
from entresol.primitives.values import Address, Data, Hash32, Quantity

if TYPE_CHECKING:
    from entresol._native import Log

TRANSFER_TRACER: Final = Tracer(CALL_FRAMES)
"""The tracer whose output `logs_with_transfers` decodes."""

ETHER: Final = bytes([0xEE]) * 20
"""The address that the synthetic logs name as their emitter."""

TRANSFER: Final = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
"""The first topic of `Transfer(address,address,uint256)`."""

# Frames of the other types carry a value that is not transferred.
_MOVING: Final = frozenset({"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"})


def logs_with_transfers(trace: bytes) -> tuple[Log, ...]:
    """Return the logs of an execution and its ETH transfers, in order; failed frames have none."""
    return tuple(_flatten(decode_call_frame(trace)))


def _flatten(frame: CallFrame) -> Iterator[Log]:
    """Yield the logs of `frame` and its inner calls; iterative, since they may be nested deeply."""
    stack = [_parts(frame)]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
        elif isinstance(part, CallFrame):
            stack.append(_parts(part))
        else:
            yield part


def _parts(frame: CallFrame) -> Iterator[Log | CallFrame]:
    if frame.error is not None:
        return
    yield from _transfer(frame)
    for part in frame.parts():
        yield part if isinstance(part, CallFrame) else _log(part)


def _transfer(frame: CallFrame) -> Iterator[Log]:
    value = Quantity.parse(frame.value)
    if value and frame.type in _MOVING and frame.to is not None:
        parties = (_word(frame.sender), _word(frame.to))
        yield ETHER, (TRANSFER, *parties), value.to_bytes(32)


def _word(address: str) -> bytes:
    return Address.parse(address).rjust(32, b"\0")


def _log(log: FrameLog) -> Log:
    topics = tuple(bytes(Hash32.parse(topic)) for topic in log.topics)
    return bytes(Address.parse(log.address)), topics, bytes(Data.parse(log.data))
