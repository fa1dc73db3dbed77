"""Start and stop: from the command to the first response, from the signal to the end, and the import."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Final

from benchmarks.harness import Peer, Row, Target
from benchmarks.process_life import Life, bytecode, life
from tests.support.anvil import find_anvil

ROUNDS: Final = 5


def rows() -> Iterable[Row]:
    """Measure the life of a node and of anvil, and what importing the package takes."""
    with bytecode() as environment:
        ours = _best(
            [sys.executable, "-m", "entresol", "--port", "0", "--l1-port", "0"], environment
        )
        empty, imported = (_best_run(code, environment) for code in ("", "import entresol"))
    theirs = _best([str(find_anvil()), "--port", "0"])
    yield Row(
        what="start to first response on both layers",
        value=ours.start * 1e3,
        unit="ms",
        peer=Peer("anvil", theirs.start * 1e3),
        target=Target(700, "at most"),
        note=f"{ours.processor * 1e3:.0f} ms of the processor, to the end",
    )
    yield Row(
        what="signal to end",
        value=ours.stop * 1e3,
        unit="ms",
        peer=Peer("anvil", theirs.stop * 1e3),
        target=Target(1_000, "at most"),
    )
    yield Row(
        what="import entresol",
        value=(imported - empty) * 1e3,
        unit="ms",
        target=Target(100, "at most"),
        note=f"of {imported * 1e3:.0f} ms of the process",
    )


def _best(command: list[str], environment: dict[str, str] | None = None) -> Life:
    return Life.best(life(command, environment) for _ in range(ROUNDS))


def _best_run(code: str, environment: dict[str, str]) -> float:
    """Return the seconds that a process of Python takes to run `code`."""

    def run() -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        return time.perf_counter() - begun

    return min(run() for _ in range(ROUNDS))
