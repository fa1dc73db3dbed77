"""The command line: what each command does, its flags, its completion in shells."""

from entresol.cli.main import SWITCH_SECONDS, command, main

__all__ = ["SWITCH_SECONDS", "command", "main"]
