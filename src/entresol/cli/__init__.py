"""The command line: what each command does, its flags, its completion in shells."""

from entresol.cli.main import command, main
from entresol.cli.run_node import SWITCH_SECONDS

__all__ = ["SWITCH_SECONDS", "command", "main"]
