"""Many processes with one cache, and processes that are killed while they write."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from entresol.fork.cache.cache_files import cached_forks
from tests.support.fork.cached_forks import ADDRESS, FORK, cache_at

KILLS = 10


def writer(place: Path, first: int, count: int, step: int) -> subprocess.Popen[str]:
    arguments = [str(place), str(first), str(count), str(step)]
    module = [sys.executable, "-m", "tests.support.fork.cached_forks", *arguments]
    return subprocess.Popen(module, stdout=subprocess.PIPE, text=True)


def found(place: Path, numbers: list[int]) -> dict[int, int]:
    with closing(cache_at(place)) as cache:
        slots = cache.slots(
            FORK.hash, [(ADDRESS, number.to_bytes(32, "big")) for number in numbers]
        )
    return {
        int.from_bytes(slot, "big"): int.from_bytes(value, "big")
        for (_, slot), value in slots.items()
    }


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    # They share some values: all of those that 2 and 3 divide.
    processes = [writer(tmp_path, 0, 600 // step, step) for step in (2, 3)]
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    expected = {number: number + 1 for number in range(600) if number % 2 == 0 or number % 3 == 0}
    assert found(tmp_path, list(range(600))) == expected
    assert len(cached_forks(tmp_path)) == 1


def test_a_process_that_is_killed_while_it_writes_leaves_a_file_that_opens(tmp_path: Path) -> None:
    written = -1
    for _ in range(KILLS):
        with writer(tmp_path, written + 1, 0, 1) as process:
            assert process.stdout is not None
            written = int(process.stdout.readline())
            process.kill()
        values = found(tmp_path, list(range(written + 1)))
        assert values == {number: number + 1 for number in range(written + 1)}
