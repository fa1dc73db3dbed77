"""Run the command line: `entresol`, or `python -m entresol`."""

from entresol.node.startup.process_start import collect_rarely, import_ahead

collect_rarely()
import_ahead()

from entresol.cli import command  # noqa: E402 - what this imports is what is not to be collected

if __name__ == "__main__":
    command()
