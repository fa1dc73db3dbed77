"""Settings from one typed definition: flags over the environment over a file over the defaults."""

from __future__ import annotations

import argparse
import tomllib
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from entresol.errors import InvalidConfig

PREFIX: Final = "ENTRESOL_"

T = TypeVar("T", bound=msgspec.Struct)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be set: its place in the definition, and what people read about it."""

    section: str
    name: str
    kind: Any
    default: Any
    description: str

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
        """The key in a file."""
        return f"{self.section}.{self.name}"

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off, so that the flag takes no value."""
        return self.kind is bool


class Settings(Generic[T]):
    """The settings of a configuration whose sections are structs of plain values.

    A setting's flag, variable and key all follow from its name, which no two sections may share.
    """

    def __init__(self, definition: type[T]) -> None:
        self._definition = definition
        self.all = tuple(_settings_of(definition))
        names = [setting.name for setting in self.all]
        assert len(names) == len(set(names)), "two sections share a name"

    def load(
        self,
        arguments: Mapping[str, Any],
        environment: Mapping[str, str],
        file: Path | None = None,
    ) -> T:
        """Merge what was set where, and check all of it once."""
        layers = [
            {} if file is None else self._from_file(file),
            self._from_environment(environment),
            self._from_arguments(arguments),
        ]
        values: dict[str, dict[str, Any]] = {}
        sources: dict[str, str] = {}
        for layer in layers:
            for setting, value, source in layer.values():
                values.setdefault(setting.section, {})[setting.name] = _shaped(setting, value)
                sources[setting.key] = source
        return self._convert(values, sources)

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Give `parser` a flag for each setting, grouped by section."""
        groups: dict[str, argparse._ArgumentGroup] = {}
        for setting in self.all:
            if setting.section not in groups:
                groups[setting.section] = parser.add_argument_group(setting.section)
            _add_flag(groups[setting.section], setting)

    def dump(self, config: T) -> dict[str, dict[str, Any]]:
        """Return every setting as plain values, by section, for a file or for a reader."""
        plain: dict[str, dict[str, Any]] = msgspec.to_builtins(config)
        return plain

    def _from_file(self, path: Path) -> dict[str, tuple[Setting, Any, str]]:
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidConfig(str(path), error.strerror or str(error)) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidConfig(str(path), str(error)) from error
        known = {setting.key: setting for setting in self.all}
        found = {}
        for key, value in _flatten(document):
            if key not in known:
                raise InvalidConfig(f"{path}: {key}", "there is no such setting")
            found[key] = (known[key], value, f"{path}: {key}")
        return found

    def _from_environment(
        self, environment: Mapping[str, str]
    ) -> dict[str, tuple[Setting, Any, str]]:
        return {
            setting.key: (setting, environment[setting.variable], setting.variable)
            for setting in self.all
            if setting.variable in environment
        }

    def _from_arguments(self, arguments: Mapping[str, Any]) -> dict[str, tuple[Setting, Any, str]]:
        return {
            setting.key: (setting, arguments[setting.name], setting.flag)
            for setting in self.all
            if arguments.get(setting.name) is not None
        }

    def _convert(self, values: dict[str, dict[str, Any]], sources: dict[str, str]) -> T:
        try:
            return msgspec.convert(values, self._definition, strict=False)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$.")
            key = path.rstrip("`")
            raise InvalidConfig(sources.get(key, key), problem) from error


def _settings_of(definition: type[msgspec.Struct]) -> Iterator[Setting]:
    for section in msgspec.structs.fields(definition):
        struct = section.type
        hints = get_type_hints(struct, include_extras=True)
        for field in msgspec.structs.fields(struct):
            kind, description = _described(hints[field.name])
            yield Setting(
                section=section.name,
                name=field.name,
                kind=kind,
                default=field.default,
                description=description,
            )


def _described(hint: Any) -> tuple[Any, str]:
    """Return the bare type and the description of an annotation."""
    if get_origin(hint) is not Annotated:
        return hint, ""
    kind, *notes = get_args(hint)
    descriptions = [note.description for note in notes if isinstance(note, msgspec.Meta)]
    return kind, next((text for text in descriptions if text), "")


def _shaped(setting: Setting, value: Any) -> Any:
    """Return a value as the definition has it: a list on one line is divided by commas."""
    options = (
        get_args(setting.kind) if get_origin(setting.kind) is types.UnionType else (setting.kind,)
    )
    if isinstance(value, str) and any(get_origin(option) is tuple for option in options):
        return [item.strip() for item in value.split(",") if item.strip()]
    return value


def _flatten(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, values in document.items():
        if not isinstance(values, Mapping):
            yield section, values
            continue
        for name, value in values.items():
            yield f"{section}.{name}", value


def _add_flag(group: argparse._ArgumentGroup, setting: Setting) -> None:
    if setting.is_switch:
        group.add_argument(
            setting.flag,
            dest=setting.name,
            action=argparse.BooleanOptionalAction if setting.default else "store_true",
            default=None,
            help=setting.description,
        )
        return
    shown = "" if setting.default in (None, "") else f" [{setting.default}]"
    group.add_argument(
        setting.flag,
        dest=setting.name,
        metavar=_metavar(setting.kind),
        default=None,
        help=setting.description + shown,
    )


def _metavar(kind: Any) -> str:
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(option for option in get_args(kind) if option is not type(None))
    if get_args(kind):
        return "|".join(str(choice) for choice in get_args(kind))
    return {int: "N", float: "SECONDS", str: "TEXT"}.get(kind, "VALUE")
