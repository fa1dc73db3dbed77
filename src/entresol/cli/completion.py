"""Completion scripts for bash, zsh and fish, derived from the parsers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from entresol.cli.parsers import PARSERS
from entresol.cli.short_help import COMMANDS
from entresol.node.config.flags import Argument

DEFAULT: Final = "run"
PATHS: Final = {"FILE", "DIR", "DEST", "PATH"}
"""Placeholders of values that are completed as paths."""


def script(shell: str) -> str:
    """Return the script for a shell: `bash`, `zsh` or `fish`."""
    writers = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    return "\n".join((*writers[shell](), ""))


def _arguments(command: str) -> Sequence[Argument]:
    """Return what may follow a command, without the commands that share its parser."""
    found = PARSERS[command]().arguments()
    return [
        argument
        for argument in found
        if argument.flags or not set(argument.values) & COMMANDS.keys()
    ]


def _bash() -> Iterator[str]:
    yield "_entresol() {"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"'
    yield f'    local command={DEFAULT} words="{" ".join(COMMANDS)}" flags word'
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'        case "$word" in {"|".join(COMMANDS)}) command=$word; words=""; break ;; esac'
    yield "    done"
    yield "    COMPREPLY=()"
    yield '    case "$command" in'
    for command in COMMANDS:
        yield f"    {command})"
        yield from _bash_command(_arguments(command))
        yield "        ;;"
    yield "    esac"
    yield '    [[ $current == -* ]] && words="$flags"'
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _entresol entresol"


def _bash_command(arguments: Sequence[Argument]) -> Iterator[str]:
    flags = (flag for argument in arguments for flag in argument.flags)
    yield f'        flags="{" ".join(flags)}"'
    words = [value for argument in arguments if not argument.flags for value in argument.values]
    if words:
        yield f'        words="{" ".join(words)}"'
    yield '        case "$previous" in'
    # Nothing is offered where a value is free: bash then completes paths by itself.
    for argument in arguments:
        if argument.flags and argument.takes_value:
            values = f'COMPREPLY=($(compgen -W "{" ".join(argument.values)}" -- "$current")); '
            yield f"        {'|'.join(argument.flags)}) {values if argument.values else ''}return ;;"
    yield "        esac"


def _zsh() -> Iterator[str]:
    yield "#compdef entresol"
    yield "_entresol() {"
    yield f"    local command={DEFAULT} word"
    yield "    local -a commands=("
    yield from (f"        '{name}:{text}'" for name, text in COMMANDS.items())
    yield "    )"
    yield '    for word in "${(@)words[2,CURRENT-1]}"; do'
    yield f'        case "$word" in ({"|".join(COMMANDS)}) command=$word; break ;; esac'
    yield "    done"
    yield "    if [[ $command == run && ${words[(I)run]} -eq 0 && $words[CURRENT] != -* ]]; then"
    yield "        _describe command commands && return"
    yield "    fi"
    yield '    case "$command" in'
    for command in COMMANDS:
        yield f"    ({command})"
        specs = (spec for argument in _arguments(command) for spec in _zsh_specs(argument))
        yield " \\\n            ".join((f"        _arguments -S '1::command:({command})'", *specs))
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield 'if [[ "${funcstack[1]}" == _entresol ]]; then _entresol "$@"; else compdef _entresol entresol; fi'


def _zsh_specs(it: Argument) -> Iterator[str]:
    """Yield what `_arguments` takes for each flag, or for a word after the command."""
    values = f"({' '.join(it.values)})" if it.values else "_files" if _is_path(it) else " "
    value = f":{it.metavar.lower() or 'value'}:{values}".replace("|", " or ")
    for flag in it.flags:
        described = f"{flag}[{_zsh_escaped(_summary(it.description))}]"
        yield _quoted(f"*{described}{value if it.takes_value else ''}")
    if not it.flags:
        yield _quoted(f"2{value}")


def _fish() -> Iterator[str]:
    seen = " ".join(COMMANDS)
    yield "complete -c entresol -f"
    for name, text in COMMANDS.items():
        unset = f'-n "not __fish_seen_subcommand_from {seen}"'
        yield f"complete -c entresol {unset} -a {name} -d {_quoted(text)}"
    for command in COMMANDS:
        others = " ".join(name for name in COMMANDS if name != DEFAULT)
        given = f"__fish_seen_subcommand_from {command}"
        condition = f"not __fish_seen_subcommand_from {others}" if command == DEFAULT else given
        for argument in _arguments(command):
            yield f'complete -c entresol -n "{condition}" {_fish_options(argument)}'


def _fish_options(it: Argument) -> str:
    parts = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in it.flags]
    if it.takes_value:
        parts += ["-r" if _is_path(it) else "-x"] if it.flags else []
        parts += ["-F"] if _is_path(it) else []
        parts += [f"-a {_quoted(' '.join(it.values))}"] if it.values else []
    parts += [f"-d {_quoted(_summary(it.description))}"] if it.flags else []
    return " ".join(parts)


def _is_path(it: Argument) -> bool:
    return it.metavar in PATHS


def _summary(description: str) -> str:
    return re.split(r"(?<=\.)\s|;\s", description)[0].removesuffix(".")


def _zsh_escaped(text: str) -> str:
    return re.sub(r"([\[\]:])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
