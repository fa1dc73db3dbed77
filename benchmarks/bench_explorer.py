"""The explorer in a Chromium: how long home takes to appear, and what each new block costs it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from benchmarks.harness import Row, Target
from tests.support.clients.javascript import node_program
from tests.support.node_process import running_node

SCRIPT: Final = Path(__file__).resolve().parents[1] / "tests" / "explorer" / "drawing.mjs"


def rows() -> Iterable[Row]:
    """Measure a first visit to home, and home while blocks arrive."""
    with running_node() as node:
        output = subprocess.run(
            [node_program(), str(SCRIPT)],
            env=os.environ | {"NODE_URL": node.url},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
    figures = json.loads(output)
    rate = f"{figures['rate']:.0f} blocks/s"
    yield Row(
        what="home, from the address to the first block",
        value=figures["first"],
        unit="ms",
        target=Target(150, "at most"),
        note="nothing cached, median of 7",
    )
    yield Row(
        what="home, work for each new block",
        value=figures["update"],
        unit="ms",
        target=Target(8, "at most"),
        note=rate,
    )
    yield Row(
        what="home, longest task beside them",
        value=figures["longest"],
        unit="ms",
        target=Target(50, "at most"),
        note=f"{rate}; 0 is below 50",
    )
