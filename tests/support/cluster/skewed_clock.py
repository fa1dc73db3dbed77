"""`python -m tests.support.cluster.skewed_clock FILE …`: a node whose clock is wrong by what a file says, in seconds."""

from __future__ import annotations

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path

_SECONDS = struct.Struct("=d")


class SkewedClock:
    def __init__(self, path: Path) -> None:
        self._path = path
        path.write_bytes(_SECONDS.pack(0.0))

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-m", "tests.support.cluster.skewed_clock", str(self._path))

    def set(self, seconds: float) -> None:
        """Let it be wrong by so much from now on, also while the node runs."""
        with self._path.open("r+b") as file:
            file.write(_SECONDS.pack(seconds))


def main() -> None:
    """Run a node, after replacing the clock that it is going to import."""
    _, path, *arguments = sys.argv
    with Path(path).open("rb") as file:
        skew = mmap.mmap(file.fileno(), _SECONDS.size, prot=mmap.PROT_READ)
    right = time.time
    time.time = lambda: right() + _SECONDS.unpack(skew)[0]
    sys.argv = ["entresol", *arguments]
    runpy.run_module("entresol", run_name="__main__")


if __name__ == "__main__":
    main()
