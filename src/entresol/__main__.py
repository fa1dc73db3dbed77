"""Run the command line: `entresol`, or `python -m entresol`."""

from entresol.node.startup.garbage_collector import collect_rarely

collect_rarely()

from entresol.node.startup.import_ahead import import_ahead  # noqa: E402 - it is not to be collected, either

import_ahead()

from entresol.cli import command  # noqa: E402 - what this imports is what is not to be collected

if __name__ == "__main__":
    command()
