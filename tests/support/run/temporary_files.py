"""Where a run of the tests keeps its files: in memory if there is room, and nothing of it stays."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - the directory itself has a name that nobody can guess
MIN_FREE_BYTES: Final = 4 << 30
"""How much must be free in memory: a guess with room to spare, since what a run needs was not measured."""

# Short, as a socket has a path of at most 107 bytes, and below this come the folders of a process and of a test.
_PREFIX: Final = "etests-"


@contextlib.contextmanager
def temporary_files() -> Iterator[Path]:
    """Let this process and those that it starts make their temporary files in a directory that is removed at the end.

    A store on a disk takes ten times as long to open as one in memory, and most tests open one. A node that a test
    kills removes nothing, so the directories of runs that were killed themselves are removed, too.
    """
    parent = MEMORY if has_room(MEMORY) else Path(tempfile.gettempdir())
    remove_abandoned(parent)
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
    before = os.environ.get("TMPDIR"), tempfile.tempdir
    os.environ["TMPDIR"] = tempfile.tempdir = str(path)
    try:
        yield path
    finally:
        variable, tempfile.tempdir = before
        del os.environ["TMPDIR"]
        if variable is not None:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(path, ignore_errors=True)


def has_room(folder: Path) -> bool:
    """Say whether a folder is there, takes files, and has room for those of a run."""
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= MIN_FREE_BYTES


def remove_abandoned(parent: Path) -> None:
    """Remove the directories of runs whose process is gone."""
    for path in parent.glob(f"{_PREFIX}*"):
        pid = path.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdecimal() and not is_running(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
