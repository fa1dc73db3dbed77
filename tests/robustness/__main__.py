"""The long run: `python -m tests.robustness --cases 200000 --seed 1`.

Attacks a node with a directory, restarts it after each part, and verifies the directory at the end. What
goes wrong is printed with its request and counted; the exit code says whether there was any.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.robustness.attack import Attack, WrongError
from tests.support.node_process import ENTRESOL, RunningNode, running_node

SETTINGS = (
    "--log-level", "warning", "--receipt-seconds", "0.2", "--call-seconds", "1",
)  # fmt: skip
"""Waiting is not tested."""

PART = 20_000
BETWEEN_CHECKS = 1_000


class Run:
    """What a run has found so far."""

    def __init__(self, websocket_share: float) -> None:
        self._websocket_share = websocket_share
        self.counts: Counter[int] = Counter()
        self.problems: Counter[str] = Counter()
        self.slowest = 0.0

    def attack(self, node: RunningNode, seed: int, cases: int) -> None:
        """Send a part of the cases to one node."""
        attack = Attack(node.url, seed, self._websocket_share)
        for sent in range(cases):
            self._try(node, lambda: attack.send(1))
            if sent % BETWEEN_CHECKS == BETWEEN_CHECKS - 1:
                self._try(node, attack.check_that_it_works)
            if node.process.poll() is not None:
                raise SystemExit(f"the node died:\n{node.printed()[-5_000:]}")
        self.counts += attack.counts
        self.slowest = max(self.slowest, attack.slowest)
        attack.close()

    def _try(self, node: RunningNode, step: Callable[[], None]) -> None:
        try:
            step()
        except AssertionError as error:
            problem = error.problem if isinstance(error, WrongError) else str(error)
            self.problems[problem] += 1
            _, found, trace = node.printed().rpartition("Traceback")
            print(error, found + trace if found else "", sep="\n", flush=True)


def main() -> int:
    """Run the cases, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--websocket-share", type=float, default=0.5)
    options = parser.parse_args()
    run, started = Run(options.websocket_share), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        directory = ("--data-dir", str(Path(folder) / "chain"))
        for first in range(0, options.cases, PART):
            with running_node(*directory, *SETTINGS) as node:
                run.attack(node, options.seed + first, min(PART, options.cases - first))
                print(f"{first + PART} cases, {time.monotonic() - started:.0f} s", flush=True)
                if node.stop() != 0:
                    run.problems["did not stop well"] += 1
                    print(node.printed()[-5_000:])
        verified = subprocess.run(
            [*ENTRESOL, "verify", *directory], capture_output=True, text=True, check=False
        )
    print(verified.stdout[-300:], verified.stderr[-1_000:])
    run.problems += Counter({"does not verify": int(verified.returncode != 0)})
    print(f"responses by code: {dict(sorted(run.counts.items()))}; slowest {run.slowest:.2f} s")
    print(f"problems: {dict(run.problems)}")
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
