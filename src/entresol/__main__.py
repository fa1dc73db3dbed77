"""Run the command line: `entresol`, or `python -m entresol`."""

from entresol.node.startup.garbage_collector import collect_rarely

collect_rarely()

from entresol.cli import command  # noqa: E402 - what this imports is what is not to be collected

if __name__ == "__main__":
    command()
