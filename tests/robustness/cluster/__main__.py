"""`python -m tests.robustness.cluster --faults 200 --seed 1`: faults in a cluster under load."""

from __future__ import annotations

import argparse
import logging
import signal
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.robustness.cluster.run import run_faults


def main() -> None:
    """Run, and print how long the chain took to go on after each kind of fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    # A signal ends it as an exception, so that nothing is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    logging.basicConfig(format="%(asctime)s %(message)s")
    logging.getLogger("tests.robustness").setLevel(logging.INFO)
    with tempfile.TemporaryDirectory(prefix="entresol-cluster-") as folder:
        injected = run_faults(Path(folder), arguments.faults, arguments.seed)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for fault in injected:
        seconds[fault.name].append(fault.recovery_seconds)
    for name, found in sorted(seconds.items()):
        middle, most = statistics.median(found), max(found)
        sys.stdout.write(
            f"{name:<40} {len(found):>4} times, {middle:.2f} s, at most {most:.2f} s\n"
        )


if __name__ == "__main__":
    main()
