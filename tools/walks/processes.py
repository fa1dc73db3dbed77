"""Turns recording on and off in the processes of a node, and collects what they wrote."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support.polling import eventually
from tools.walks.floors import ROOT
from tools.walks.recorder import FOLDER, Function
from tools.walks.walk import Calls, merged

INJECTED: Final = ROOT / "tools" / "walks" / "injected"


@contextlib.contextmanager
def injected() -> Iterator[Path]:
    """Have every Python process that is started record by signal, and yield the folder of what they write."""
    before = dict(os.environ)
    with TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = os.pathsep.join((str(INJECTED), str(ROOT)))
        os.environ[FOLDER] = folder
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ.update(before)


def record(folder: Path, processes: Sequence[int], act: Callable[[], object]) -> Calls:
    """Return the calls in these processes while `act` runs."""
    _signal(folder, processes, "recording")
    try:
        act()
    finally:
        written = _signal(folder, processes, "json")
    return merged(map(_read, written))


def _signal(folder: Path, processes: Sequence[int], suffix: str) -> list[Path]:
    """Signal the processes, and return the files by which they say that they have taken it."""
    files = [folder / f"{pid}.{suffix}" for pid in processes]
    for file, pid in zip(files, processes, strict=True):
        file.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR2)
    eventually(lambda: all(it.exists() for it in files))
    return files


def _read(file: Path) -> Calls:
    calls: list[tuple[list[str] | None, list[str], int]] = json.loads(file.read_text())
    return {(_function(caller), (callee[0], callee[1])): times for caller, callee, times in calls}


def _function(pair: list[str] | None) -> Function | None:
    return None if pair is None else (pair[0], pair[1])
