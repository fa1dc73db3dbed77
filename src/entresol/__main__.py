"""Run the command line: `python -m entresol`."""

from entresol.cli import command

command()
