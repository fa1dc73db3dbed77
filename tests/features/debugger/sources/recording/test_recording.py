"""Recordings that are kept, as many as there is room for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from entresol.errors import DeadlinePassed
from entresol.features.debugger.sources.recording.recording import (
    MAX_RECORDED_BYTES,
    MAX_RECORDINGS,
    ExecutionRecording,
    KeptCodes,
    RecordingKey,
    Recordings,
)
from entresol.features.debugger.sources.recording.storage_log import SlotLog
from entresol.primitives.values import Hash32


def key(number: int) -> RecordingKey:
    return RecordingKey(Hash32.zero(), Hash32(number.to_bytes(32)), 0)


def recording(size: int = 1) -> ExecutionRecording:
    return ExecutionRecording(
        total=0,
        ranges=[],
        frames=[],
        omitted_frames=0,
        sources=[],
        omitted_sources=0,
        gas_by_line=None,
        storage=SlotLog(lambda _: 0),
        preimages={},
        codes=KeptCodes(),
        read_codes=KeptCodes(),
        stack_trace=None,
        size=size,
    )


class Maker:
    """Makes recordings of a size, and counts them."""

    def __init__(self, size: int = 1) -> None:
        self.made = 0
        self._size = size

    def __call__(self) -> ExecutionRecording:
        self.made += 1
        return recording(self._size)


def test_requests_at_the_same_time_make_one_recording() -> None:
    recordings, make, ready = Recordings(), Maker(), Barrier(8)

    def get(_: int) -> ExecutionRecording:
        ready.wait()
        return recordings.get(key(1), make, 60)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(get, range(8)))
    assert make.made == 1
    assert all(it is found[0] for it in found)


def test_who_waits_too_long_for_others_gets_an_error_and_what_is_kept_is_there_at_once() -> None:
    recordings, begun, go_on = Recordings(), Event(), Event()
    kept = recordings.get(key(1), recording, 0)

    def slow() -> ExecutionRecording:
        begun.set()
        go_on.wait()
        return recording()

    with ThreadPoolExecutor(1) as threads:
        made = threads.submit(recordings.get, key(2), slow, 60)
        begun.wait()
        with pytest.raises(DeadlinePassed, match="try again"):
            recordings.get(key(3), recording, 0)
        assert recordings.get(key(1), Maker(), 0) is kept
        go_on.set()
        assert recordings.get(key(2), Maker(), 60) is made.result()


def test_a_failure_is_not_kept() -> None:
    recordings, make = Recordings(), Maker()

    def fails() -> ExecutionRecording:
        raise DeadlinePassed("execution timeout")

    with pytest.raises(DeadlinePassed, match="execution timeout"):
        recordings.get(key(1), fails, 0)
    recordings.get(key(1), make, 0)
    assert make.made == 1


@pytest.mark.parametrize("size", [1, MAX_RECORDED_BYTES // 4, 2 * MAX_RECORDED_BYTES])
def test_those_that_were_not_used_for_longest_are_forgotten(size: int) -> None:
    recordings, make = Recordings(), Maker(size)
    for number in range(MAX_RECORDINGS + 1):
        recordings.get(key(number), make, 0)
    made = make.made
    recordings.get(key(MAX_RECORDINGS), make, 0)
    assert make.made == made
    recordings.get(key(0), make, 0)
    assert make.made == made + 1
