"""Frames of a channel that are not served yet: in order for each client, and clients in turn."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class FrameKind(IntEnum):
    """What a frame is."""

    CALL = 0
    RESPONSE = 1
    NO_RESPONSE = 2
    """The response to a call that has none, as a notification."""
    FAILED = 3
    """The call failed by a bug, which the other side has logged."""
    CANCEL = 4
    MESSAGE = 5
    GONE = 6
    """A client will make no more calls, and waits for none."""
    COMES = 7
    """A client will make calls; the payload is its address."""


_NUMBERED_BY_SENDER: Final = frozenset({FrameKind.CALL, FrameKind.GONE, FrameKind.COMES})


class Frame(NamedTuple):
    """A frame that was received."""

    kind: FrameKind
    client: int
    """On whose behalf the call is made."""
    number: int
    """The number of the call, by the side that makes it."""
    payload: bytes


class FrameQueue:
    """Queue of calls and responses, in which clients take turns.

    A client that makes many calls delays its own only. Remembers: the frames, of which clients have as many as they may
    have requests in progress. Persists: nothing. Fails: never.
    """

    def __init__(self) -> None:
        self._clients: dict[int, dict[tuple[bool, int], Frame]] = {}
        self.size = 0
        """How many bytes the payloads have."""

    def __bool__(self) -> bool:
        return bool(self._clients)

    def put(self, frame: Frame) -> None:
        """Add a call or a response behind the others of its client."""
        frames = self._clients.setdefault(frame.client, {})
        frames[_key(frame)] = frame
        self.size += len(frame.payload)

    def take(self) -> Frame:
        """Remove and return the next frame of the client whose turn it is."""
        client, frames = next(iter(self._clients.items()))
        del self._clients[client]
        frame = frames.pop(next(iter(frames)))
        if frames:
            self._clients[client] = frames
        self.size -= len(frame.payload)
        return frame

    def drop_call(self, client: int, number: int) -> None:
        """Remove a call that is cancelled before its turn, if it is here."""
        frames = self._clients.get(client, {})
        frame = frames.pop((True, number), None)
        if frame is not None:
            self.size -= len(frame.payload)
            if not frames:
                del self._clients[client]

    def clear(self) -> None:
        """Remove all."""
        self._clients.clear()
        self.size = 0


def _key(frame: Frame) -> tuple[bool, int]:
    # Each side numbers its own calls, and the beginnings and ends of clients among them.
    return frame.kind in _NUMBERED_BY_SENDER, frame.number
