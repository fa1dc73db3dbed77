"""Command-line flags and `--help`, derived from settings."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, NoReturn

from entresol.errors import InvalidConfig
from entresol.node.config.setting import MAX_WORDS, Setting, redact, shown_text, split_list
from entresol.node.config.suggestions import none_of, similar

MAX_INLINE_CHOICES: Final = 4
"""More choices than this are listed in the description and not behind the flag."""

# Flags of anvil that are rejected by name, with the reason.
NODE_REJECTED: Final = {
    "--timeout": "say --fork-timeout, which is in seconds; anvil's is in milliseconds",
    "--l1-timeout": "say --l1-fork-timeout, which is in seconds; anvil's is in milliseconds",
}

_NETWORKS: Final = "the chain is Ethereum's; other networks are not supported"
ANVIL_REJECTED: Final = {
    **dict.fromkeys(("-n", "--network", "--celo", "--optimism", "--odyssey"), _NETWORKS),
    "--disable-pool-balance-checks": "a transaction that its sender cannot pay is never accepted",
}


class IgnoredFlag(NamedTuple):
    """A flag of anvil that is accepted without effect: what it sets is always so, or has no counterpart."""

    names: tuple[str, ...]
    reason: str
    metavar: str | None = None
    """The placeholder of its value; None if it takes none."""
    is_optional: bool = False
    """Whether the value may be left out."""


ANVIL_IGNORED: Final = (
    IgnoredFlag(("--gas-price",), "Fees follow EIP-1559.", "N"),
    IgnoredFlag(("--steps-tracing", "--tracing"), "Steps can always be traced."),
    IgnoredFlag(("--prune-history",), "The state of every block is kept.", "N", is_optional=True),
    IgnoredFlag(("--max-persisted-states",), "The state of every block is on disk.", "N"),
    IgnoredFlag(("--transaction-block-keeper",), "All blocks are kept.", "N"),
    IgnoredFlag(("--cache-path",), "--fork-cache says where the cache of a fork is.", "TEXT"),
    IgnoredFlag(("--memory-limit",), "Gas limits memory.", "N"),
    IgnoredFlag(("--threads", "-j", "--jobs"), "The node has as many as it needs.", "N"),
    IgnoredFlag(("--color",), "A terminal gets colours.", "TEXT"),
    IgnoredFlag(("--md",), "Logs are text or JSON."),
)

_NO_NUMBER: Final = re.compile(r"invalid int value: ")
_NO_VALUE: Final = re.compile(r"expected (?:at least )?one argument")
_VALUE: Final = re.compile(r"(['\"])(.*)\1$", re.DOTALL)
"""The value at the end of a message of argparse."""

_METAVARS: Final = {int: "N", float: "NUMBER", str: "TEXT", bool: "true|false"}


class Argument(NamedTuple):
    """An argument that a shell completes: a flag and its values, or a word of the command."""

    flags: Sequence[str]
    """None of a word that stands by itself."""
    takes_value: bool
    values: Sequence[str]
    """The values that it may have, if they are enumerated."""
    metavar: str
    description: str
    short: str
    """The description in a few words, if a setting has it."""


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line, and suggests the flag that was probably meant."""

    def __init__(self, *, rejected: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._rejected = rejected or {}
        """Why each flag is rejected that users of anvil may expect."""
        self.values: dict[str, Sequence[str]] = {}
        """The values that a flag may have, by its name, if they are enumerated."""
        self.short: dict[str, str] = {}
        """The effect of a flag in a few words, by its name."""

    def parse(self, arguments: Sequence[str] | None) -> dict[str, Any]:
        """Return the arguments by name."""
        words = sys.argv[1:] if arguments is None else arguments
        # Checked first: argparse would take the value of an unknown flag for the command.
        for flag in (word.partition("=")[0] for word in words if word.startswith("-")):
            if flag in self._rejected:
                raise InvalidConfig(flag, self._rejected[flag])
            if flag.startswith("--") and flag not in self._option_string_actions:
                raise self._unknown_flag(flag)
        self._check_switches(words)
        parsed, (*others,) = self.parse_known_args(words)
        if others:
            more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
            self.error(f"unrecognized arguments: {shown_text(others[0])}{more}")
        return vars(parsed)

    def arguments(self) -> Iterator[Argument]:
        """Yield the flags and the words that it accepts, without hidden ones."""
        for action in self._actions:
            if action.help != argparse.SUPPRESS:
                yield Argument(
                    flags=action.option_strings,
                    takes_value=action.nargs != 0,
                    values=self.values.get(action.dest) or tuple(action.choices or ()),
                    metavar=str(action.metavar or ""),
                    description=(action.help or "").replace("%%", "%"),
                    short=self.short.get(action.dest, ""),
                )

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print after the usage, in the words of other errors."""
        problem = _NO_NUMBER.sub("expected a whole number, got ", message.removeprefix("argument "))
        problem = _VALUE.sub(
            lambda it: shown_text(it[2]) if len(it[2].split()) > MAX_WORDS else it[0], problem
        )
        raise InvalidConfig("", f"{redact(_NO_VALUE.sub('it needs a value', problem))}; see --help")

    def _check_switches(self, words: Sequence[str]) -> None:
        """Raise an error that names a switch with a value, which argparse would take for a word of the command."""
        known = [action.choices for action in self._actions if not action.option_strings]
        if None in known:
            return
        choices = {str(choice) for of_word in known for choice in of_word or ()}
        for flag, word in pairwise(words):
            action = self._option_string_actions.get(flag)
            is_switch = action is not None and action.nargs == 0
            if is_switch and not word.startswith("-") and similar(word, choices) is None:
                raise InvalidConfig(flag, f"it takes no value, got {shown_text(word)}")

    def _unknown_flag(self, word: str) -> InvalidConfig:
        flag, *value = word.split()
        if value:
            return InvalidConfig(
                redact(flag), "there is no such flag; its value is a word of its own"
            )
        nearest = similar(flag, self._option_string_actions)
        hint = f"did you mean {nearest}?" if nearest else "--help-all lists them"
        return InvalidConfig(redact(flag), f"there is no such flag; {hint}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error that names the choices, which argparse leaves out where there is a placeholder."""
        if action.choices is not None and value not in action.choices:
            name = action.option_strings[0] if action.option_strings else action.dest
            raise InvalidConfig(name, none_of(str(value), map(str, action.choices)))


class HelpFormatter(argparse.HelpFormatter):
    """Leaves room for long flags, so that most descriptions are on the same line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=34)


def add_flags(parser: Parser, settings: Iterable[Setting], titles: Mapping[str, str]) -> None:
    """Add a flag for each setting to `parser`, by groups."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for setting in settings:
        group = setting.group or setting.section
        if group not in groups:
            groups[group] = parser.add_argument_group(group, titles[group])
        _add_flag(groups[group], setting)
        parser.values[setting.name] = setting.choices
        parser.short[setting.name] = setting.short


def add_ignored_flags(parser: Parser, ignored: Iterable[IgnoredFlag]) -> None:
    """Add flags that are accepted without effect to `parser`."""
    group = parser.add_argument_group("ignored", "Flags that are accepted without effect.")
    for flag in ignored:
        options: dict[str, Any] = {"dest": "ignored", "default": None, "help": _escape(flag.reason)}
        if flag.metavar is None:
            group.add_argument(*flag.names, **options, action="store_true")
            continue
        if flag.metavar == "N":
            options |= {"type": int}
        if flag.is_optional:
            options |= {"nargs": "?"}
        group.add_argument(*flag.names, **options, metavar=flag.metavar)


def metavar_of(setting: Setting) -> str:
    """Return the placeholder of a setting's value in the help."""
    if setting.metavar is not None:
        return setting.metavar
    if setting.choices:
        inline = len(setting.choices) <= MAX_INLINE_CHOICES
        return "|".join(setting.choices) if inline else setting.name.upper()
    if setting.is_list:
        return "A,B"
    for unit in ("bytes", "seconds"):
        if setting.name.endswith(f"_{unit}"):
            return unit.upper()
    return _METAVARS.get(setting.value_type, "VALUE")


def format_value(value: Any) -> str:
    """Return a value as it is written behind a flag; empty if it is None."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _add_flag(group: argparse._ArgumentGroup, setting: Setting) -> None:
    if setting.is_switch:
        group.add_argument(
            *(setting.flag, *setting.aliases),
            dest=setting.name,
            action="store_true" if setting.default is False else argparse.BooleanOptionalAction,
            default=None,
            help=_escape(setting.description),
        )
        return
    is_only_counted = setting.flag in setting.counted
    if setting.counted:
        group.add_argument(
            *setting.counted,
            dest=setting.name,
            action="count",
            default=None,
            help=_escape(setting.description) if is_only_counted else argparse.SUPPRESS,
        )
    if is_only_counted:
        return
    options: dict[str, Any] = {}
    if setting.without_value is not None:
        options = {"nargs": "?", "const": setting.without_value}
    elif setting.is_repeated:
        options = {"action": "append"}
    elif setting.is_list:
        options = {"action": "extend", "type": split_list}
    group.add_argument(
        *(setting.flag, *setting.aliases),
        **options,
        dest=setting.name,
        metavar=metavar_of(setting),
        default=None,
        help=_escape(setting.description + _choices(setting) + _default(setting)),
    )


def _choices(setting: Setting) -> str:
    choices = setting.choices
    return f" One of {', '.join(choices)}." if len(choices) > MAX_INLINE_CHOICES else ""


def _default(setting: Setting) -> str:
    text = format_value(setting.default)
    return f" [{text}]" if text else ""


def _escape(text: str) -> str:
    return text.replace("%", "%%")
