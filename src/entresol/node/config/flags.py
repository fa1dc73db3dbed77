"""Settings as flags of a command: what they are called, what they take, what the help says."""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Union, get_args, get_origin

from entresol.errors import InvalidConfig

if TYPE_CHECKING:
    from entresol.node.config.loader import Setting

SHOWN_CHOICES: Final = 4
"""With more choices than this, they are told in the help and not behind the flag."""

_KINDS: Final = {int: "N", float: "NUMBER", str: "TEXT", bool: "true|false"}


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors of one line, and which knows what was probably meant."""

    def parse(self, arguments: Sequence[str] | None) -> dict[str, Any]:
        """Return what was given, by name."""
        words = sys.argv[1:] if arguments is None else arguments
        # Before argparse takes the value of a flag it does not know for something else.
        for flag in (word.partition("=")[0] for word in words if word.startswith("--")):
            if flag not in self._option_string_actions:
                raise InvalidConfig(flag, self._no_such(flag))
        return vars(self.parse_args(words))

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print, after a page of usage."""
        raise InvalidConfig("", f"{message.removeprefix('argument ')}; --help tells more")

    def _no_such(self, flag: str) -> str:
        import difflib  # noqa: PLC0415  # only for who made a mistake

        near = difflib.get_close_matches(flag, self._option_string_actions, 1)
        return (
            f"there is no such flag; {f'did you mean {near[0]}?' if near else '--help lists them'}"
        )


class HelpFormatter(argparse.HelpFormatter):
    """Gives long flags room, so that most descriptions stand beside them."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34)


def add_flags(
    parser: argparse.ArgumentParser, settings: Iterable[Setting], titles: dict[str, str]
) -> None:
    """Give `parser` a flag for each setting, grouped by section under what it is about."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for setting in settings:
        section = setting.section
        if section not in groups:
            groups[section] = parser.add_argument_group(section, titles[section])
        _add_flag(groups[section], setting)


def value_name(setting: Setting) -> str:
    """Say what a setting takes, as the help shows it behind the flag."""
    if setting.value_name is not None:
        return setting.value_name
    kind = bare(setting.kind)
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        return "|".join(choices) if len(choices) <= SHOWN_CHOICES else setting.name.upper()
    if get_origin(kind) is tuple:
        return "A,B"
    for unit in ("bytes", "seconds"):
        if setting.name.endswith(f"_{unit}"):
            return unit.upper()
    return _KINDS.get(kind, "VALUE")


def choices_of(setting: Setting) -> tuple[str, ...]:
    """Return the values that a setting may have, if they can be listed."""
    kind = bare(setting.kind)
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def bare(kind: Any) -> Any:
    """Return a type without the None that it may be."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(option for option in get_args(kind) if option is not type(None))
    return kind


def written(value: Any) -> str:
    """Return a value as one writes it behind a flag; nothing if it has none."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _add_flag(group: argparse._ArgumentGroup, setting: Setting) -> None:
    if setting.is_switch:
        group.add_argument(
            setting.flag,
            dest=setting.name,
            action=argparse.BooleanOptionalAction if setting.default else "store_true",
            default=None,
            help=_escaped(setting.description),
        )
        return
    group.add_argument(
        setting.flag,
        dest=setting.name,
        metavar=value_name(setting),
        default=None,
        help=_escaped(setting.description + _choices(setting) + _default(setting)),
    )


def _choices(setting: Setting) -> str:
    choices = choices_of(setting)
    return f" One of {', '.join(choices)}." if len(choices) > SHOWN_CHOICES else ""


def _default(setting: Setting) -> str:
    shown = written(setting.default)
    return f" [{shown}]" if shown else ""


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
