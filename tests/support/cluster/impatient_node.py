"""A node that gives its workers less time to start, so that a test need not wait a minute."""

from __future__ import annotations

import runpy
import sys

from entresol.node.workers import supervisor


def command(seconds: float) -> tuple[str, ...]:
    """Return the command of a node whose workers may take so many seconds to start."""
    return (sys.executable, "-m", "tests.support.cluster.impatient_node", str(seconds))


def main() -> None:
    """Run a node after replacing the limit."""
    _, seconds, *arguments = sys.argv
    vars(supervisor)["START_SECONDS"] = float(seconds)
    sys.argv = ["entresol", *arguments]
    runpy.run_module("entresol", run_name="__main__")


if __name__ == "__main__":
    main()
