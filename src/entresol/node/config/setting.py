"""One setting: its position in the schema, its names as flag, variable and key, its type and description."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

PREFIX: Final = "ENTRESOL_"
MAX_WORDS: Final = 3
"""Words of a value that errors show: more may be a mnemonic."""
MAX_SHOWN: Final = 60
"""Characters of a name that errors show: every setting has fewer."""
MAX_MESSAGE: Final = 200
"""Characters of another's message about a text."""

_LONG_WORD: Final = re.compile(r"[^\s'\"]{33,}")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a section of the schema."""

    section: str
    name: str
    """The name of the key, from which flag and variable follow."""
    field: str
    """The name in the section's struct, which a mirror shares with the section that it mirrors."""
    type: Any
    default: Any
    description: str
    metavar: str | None = None
    """The placeholder of the value in the help, where the type does not determine it: `FILE`."""
    aliases: tuple[str, ...] = ()
    """Other flags for it, which anvil has."""
    without_value: str | None = None
    """The value of the flag without one; None if it needs a value."""
    counted: tuple[str, ...] = ()
    """Flags whose repetitions are counted: `-v`."""
    is_repeated: bool = False
    """Whether each of several values has a flag of its own, because a value may have commas; in a variable, a line."""
    short: str = ""
    """The effect of its flag in a few words, for the help that fits a screen."""
    is_per_chain: bool = False
    """Whether each of several L2s may have a value of its own."""
    is_secret: bool = False
    """Whether no other process learns the value, such as a worker."""
    group: str | None = None
    """The group of its flag in the help, if not that of its section."""
    factor: int = 1
    """How many of the flag's units are one of the field's: 1000 if it takes milliseconds for seconds."""
    anvil: Mapping[str, Any] | None = None
    """The changes with which `entresol anvil` has it, by the names of these fields; None if it does not have it."""

    @property
    def flag(self) -> str:
        """The flag on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    @property
    def key(self) -> str:
        """The key in a TOML file."""
        return f"{self.section}.{self.name}"

    @property
    def path(self) -> str:
        """Where the value is in the configuration."""
        return f"{self.section}.{self.field}"

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off, so that the flag takes no value."""
        return self.value_type is bool and self.without_value is None

    @property
    def value_type(self) -> Any:
        """The type without the None that it may be."""
        if get_origin(self.type) in (Union, types.UnionType):
            return next(option for option in get_args(self.type) if option is not type(None))
        return self.type

    @property
    def is_list(self) -> bool:
        """Whether it has several values, which are separated by commas on one line."""
        return get_origin(self.value_type) is tuple

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, if they are enumerated."""
        kind = self.value_type
        return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


class AnvilGroup(NamedTuple):
    """A group in the help of `entresol anvil`: that of all settings of a section whose class has it as `anvil`."""

    name: str
    title: str
    reads_variables: bool = False
    """Whether its settings have variables, too."""


class Mirror(NamedTuple):
    """A second section for another layer, by names with a prefix, of a section whose class has it as `mirror`."""

    prefix: str
    title: str
    layer: str
    """The layer, as descriptions name it."""
    inherited: tuple[str, ...]
    """The fields that are as in the other section unless they are given."""

    def of(self, setting: Setting, section: str) -> Setting:
        """Return the setting of the layer for one of the section that it mirrors."""
        is_open = setting.field in self.inherited and not setting.is_switch
        return msgspec.structs.replace(
            setting,
            section=section,
            name=f"{self.prefix}{setting.name}",
            default=None if is_open else setting.default,
            description=f"As {setting.flag}, for the {self.layer}.",
            short="",
            is_per_chain=False,
            anvil=None,
            aliases=tuple(
                f"--{self.prefix.replace('_', '-')}{alias.removeprefix('--')}"
                for alias in setting.aliases
                if alias.startswith("--")
            ),
        )


def sections_of(schema: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """Return the sections of a schema by name: its fields that are structs themselves."""
    fields = msgspec.structs.fields(schema)
    return {
        field.name: field.type
        for field in fields
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct)
    }


def settings_of(section: str, struct: type[msgspec.Struct]) -> Iterator[Setting]:
    """Yield the settings of a section.

    `extra` of a field has what holds for it, by the names of `Setting`. What holds for all fields, if they do not say
    otherwise, are attributes of the class: `is_per_chain`, and `anvil` with their group.
    """
    group: AnvilGroup | None = getattr(struct, "anvil", None)
    common = {
        "is_per_chain": getattr(struct, "is_per_chain", False),
        "anvil": None if group is None else {"group": group.name},
    }
    for field, kind, meta in _fields_of(struct):
        yield Setting(
            section=section,
            name=field.name,
            field=field.name,
            type=kind,
            default=field.default,
            description=meta.description or "",
            metavar=meta.title,
            **{**common, **(meta.extra or {})},
        )


@cache
def _fields_of(
    struct: type[msgspec.Struct],
) -> tuple[tuple[msgspec.structs.FieldInfo, Any, msgspec.Meta], ...]:
    hints = get_type_hints(struct, include_extras=True)
    fields = msgspec.structs.fields(struct)
    return tuple((field, *_split_annotation(hints[field.name])) for field in fields)


def split_list(text: str, separator: str = ",") -> list[str]:
    """Return values that are separated by commas."""
    return [item.strip() for item in text.split(separator) if item.strip()]


def redact(message: str) -> str:
    """Return a message without words that are as long as a key: a key may have been given as anything."""
    return _LONG_WORD.sub("…", message)


def shown_text(text: str) -> str:
    """Return a text that was given as a value, as errors show it: without what may be a key or a mnemonic."""
    count = len(text.split())
    return f"a value of {count:,} words" if count > MAX_WORDS else redact(repr(text))


def shown_name(name: str) -> str:
    """Return a name that was given, as errors show it."""
    return shortened(name, MAX_SHOWN)


def shown_message(message: str) -> str:
    """Return a parser's message, which may repeat the text, as errors show it."""
    return shortened(redact(message), MAX_MESSAGE)


def shortened(text: str, most: int) -> str:
    """Return the beginning and the end of a text, without characters that a terminal would obey."""
    shown = text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"
    return shown if shown.isprintable() else repr(shown)[1:-1]


def _split_annotation(hint: Any) -> tuple[Any, msgspec.Meta]:
    """Return the bare type of an annotation, and the metadata that describes it."""
    if get_origin(hint) is not Annotated:
        return hint, msgspec.Meta()
    kind, *metadata = get_args(hint)
    described = (meta for meta in metadata if isinstance(meta, msgspec.Meta) and meta.description)
    return kind, next(described, msgspec.Meta())
