"""The recordings that were made last."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from entresol.errors import DeadlinePassed
from entresol.sources.recording.limits import MAX_RECORDED_BYTES, MAX_RECORDINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.values import Hash32
    from entresol.sources.recording.recording import ExecutionRecording


class RecordingKey(NamedTuple):
    """What a recording is of: a transaction of a block, with the sources that were known."""

    block: Hash32
    transaction: Hash32
    sources: int


class Recordings:
    """Recordings by what they are of, as many as there is room for.

    Fails: with `DeadlinePassed` if others take too long, or as recording does. Any thread may use it; one recording is
    made at a time, since making one takes memory.
    """

    def __init__(self) -> None:
        self._recordings: OrderedDict[RecordingKey, ExecutionRecording] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self._making = Lock()

    def get(
        self, key: RecordingKey, make: Callable[[], ExecutionRecording], seconds: float
    ) -> ExecutionRecording:
        """Return a recording, which is made if it is not there; wait at most some seconds for others that are made."""
        found = self._find(key)
        if found is not None:
            return found
        if not self._making.acquire(timeout=seconds):
            raise DeadlinePassed("other executions are recorded: try again")
        try:
            found = self._find(key)
            if found is None:
                found = make()
                self._keep(key, found)
            return found
        finally:
            self._making.release()

    def _find(self, key: RecordingKey) -> ExecutionRecording | None:
        with self._lock:
            found = self._recordings.get(key)
            if found is not None:
                self._recordings.move_to_end(key)
            return found

    def _keep(self, key: RecordingKey, recording: ExecutionRecording) -> None:
        with self._lock:
            self._recordings[key] = recording
            self._bytes += recording.size
            while len(self._recordings) > 1 and (
                len(self._recordings) > MAX_RECORDINGS or self._bytes > MAX_RECORDED_BYTES
            ):
                self._bytes -= self._recordings.popitem(last=False)[1].size
