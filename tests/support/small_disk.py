"""A file system of its own with little space, for tests of a full disk."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        with (self.path / "ballast").open("wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12):
                try:
                    while ballast.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        (self.path / "ballast").unlink()

    def enlarge(self, megabytes: int) -> None:
        remount = ["mount", "-o", f"remount,size={megabytes}m", str(self.path)]
        subprocess.run(remount, check=True)

    def protect(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)  # noqa: S607


@contextmanager
def mounted_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a file system at `path`; skip the test where that is not possible."""
    with disk_if_possible(path, megabytes) as disk:
        if disk is None:
            pytest.skip("mounting a file system is not possible here")
        yield disk


@contextmanager
def disk_if_possible(path: Path, megabytes: int) -> Iterator[SmallDisk | None]:
    """Mount a file system at `path`; None where that is not possible."""
    mount = shutil.which("mount")
    if mount is None or not sys.platform.startswith("linux"):
        yield None
        return
    command = [mount, "-t", "tmpfs", "-o", f"size={megabytes}m", "entresol-test", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield None
        return
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)  # noqa: S607
