"""Settings from one typed definition: flags over the environment over a file over the defaults."""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from entresol.errors import InvalidConfig
from entresol.node.config import flags

PREFIX: Final = "ENTRESOL_"

T = TypeVar("T", bound=msgspec.Struct)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be set: its place in the definition, and what people read about it."""

    section: str
    name: str
    kind: Any
    default: Any
    description: str
    value_name: str | None = None
    """What it takes, where its type does not say it: `FILE`."""

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
        flags.add_flags(parser, self.all, self.titles())

    def titles(self) -> dict[str, str]:
        """Return what each section is about, by its name."""
        sections = msgspec.structs.fields(self._definition)
        return {it.name: (it.type.__doc__ or it.name).partition("\n")[0] for it in sections}

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
            kind, note = _described(hints[field.name])
            yield Setting(
                section=section.name,
                name=field.name,
                kind=kind,
                default=field.default,
                description=note.description or "",
                value_name=note.title,
            )


def _described(hint: Any) -> tuple[Any, msgspec.Meta]:
    """Return the bare type of an annotation, and the note that describes it."""
    if get_origin(hint) is not Annotated:
        return hint, msgspec.Meta()
    kind, *notes = get_args(hint)
    described = (it for it in notes if isinstance(it, msgspec.Meta) and it.description)
    return kind, next(described, msgspec.Meta())


def _shaped(setting: Setting, value: Any) -> Any:
    """Return a value as the definition has it: a list on one line is divided by commas."""
    if isinstance(value, str) and get_origin(flags.bare(setting.kind)) is tuple:
        return [item.strip() for item in value.split(",") if item.strip()]
    return value


def _flatten(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, values in document.items():
        if not isinstance(values, Mapping):
            yield section, values
            continue
        for name, value in values.items():
            yield f"{section}.{name}", value
