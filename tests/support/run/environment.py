"""What a run of the tests has of the machine: its files, ports, memory, cache of forks and home of tools."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from entresol.features.fork.config.fork_settings import CACHE_VARIABLE

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


_TRIM: Final = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
"""Of glibc alone."""


def release_memory(module: ModuleType) -> None:
    """Empty the caches that a module of tests defines, and return to the system what is free."""
    for value in list(vars(module).values()):
        if hasattr(value, "cache_clear") and value.__module__ == module.__name__:
            value.cache_clear()
    if _TRIM is not None:
        _TRIM(0)


@contextlib.contextmanager
def own_cache(folder: Path) -> Iterator[None]:
    """Let forks of this process, and of those that it starts, keep what they read in a folder.

    By a variable of our own: tools that tests start have caches of theirs where XDG's says.
    """
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = str(folder)
    try:
        yield
    finally:
        del os.environ[CACHE_VARIABLE]
        if before is not None:
            os.environ[CACHE_VARIABLE] = before


DEFAULT_PORTS: Final = (3050, 3051, 3052, 8545)


@contextlib.contextmanager
def held_ports() -> Iterator[list[int]]:
    """Listen on ports and never respond; yield those that nobody else has."""
    with contextlib.ExitStack() as held:
        yield [port for port in DEFAULT_PORTS if _is_held(port, held)]


def _is_held(port: int, held: contextlib.ExitStack) -> bool:
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        holder.bind(("127.0.0.1", port))
        holder.listen()
    except OSError:
        # Whoever has it keeps tests from it as well.
        holder.close()
        return False
    held.enter_context(holder)
    return True


def tool_environment(**more: str) -> dict[str, str]:
    """Return the environment of a tool, with `more` variables.

    Foundry keeps what it has read of a chain by its id and block, and Hardhat its compilers.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return own | {"HOME": _home()} | more


@functools.cache
def _home() -> str:
    path = tempfile.mkdtemp(prefix="home-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
