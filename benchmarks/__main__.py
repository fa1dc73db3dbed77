"""Run the benchmarks and print one table: `python -m benchmarks [name...]`.

A name selects the module `bench_<name>`; without one all run. A missed target is printed, not
returned as an exit code: the figures of a shared machine are no verdict.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.harness import Row, machine, table


def main(names: list[str]) -> None:
    """Run the benchmarks called `names`, or all of them."""
    known = sorted(
        path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")
    )
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(
            f"no benchmark called {', '.join(unknown)}; there are: {', '.join(known)}",
            file=sys.stderr,
        )
    rows: list[Row] = []
    for name in names or known:
        if name in known:
            print(f"running {name}", file=sys.stderr)
            for row in importlib.import_module(f"benchmarks.bench_{name}").rows():
                print(f"  {row.what}: {row.value:,.3g} {row.unit}", file=sys.stderr, flush=True)
                rows.append(row)
    print(machine())
    print()
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
