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
    """A directory on a file system of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> None:
        """Use all the space that is left."""
        with (self.path / "ballast").open("wb", buffering=0) as ballast:
            for size in (1 << 20, 1 << 12):
                try:
                    while ballast.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def enlarge(self, megabytes: int) -> None:
        """Make the file system that large."""
        remount = ["mount", "-o", f"remount,size={megabytes}m", str(self.path)]
        subprocess.run(remount, check=True)


@contextmanager
def mounted_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a file system at `path`; skip the test where that is not possible."""
    mount = shutil.which("mount")
    if mount is None or not sys.platform.startswith("linux"):
        pytest.skip("no way to mount a file system here")
    command = [mount, "-t", "tmpfs", "-o", f"size={megabytes}m", "entresol-test", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a file system is not permitted here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)  # noqa: S607
