"""Load a configuration: flags override environment variables, these the TOML file, that a preset, and it the defaults."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from entresol.errors import InvalidConfig
from entresol.node.config.setting import (
    Mirror,
    Setting,
    sections_of,
    settings_of,
    shown_name,
    split_list,
)
from entresol.node.config.suggestions import none_of, similar, unknown_key, value_at, wrong_value
from entresol.node.config.toml_file import read_toml
from entresol.node.declaration import sections_of_features

T = TypeVar("T", bound=msgspec.Struct)

PRESET: Final = "api.preset"
"""The setting that selects other defaults."""

_Source: TypeAlias = dict[str, tuple[Setting, Any, str]]
"""The settings of one source, by key: the setting, the value, and what errors name it by."""


class Tables(NamedTuple):
    """Tables of a file that each change settings of a chain: `[[chains]]`.

    Each becomes an item of the field `name` of the schema, with the settings of all sources and its own on top.
    """

    name: str
    scope: str
    """The scope of the other settings, for errors: "the whole node"."""
    counted: str
    """The key of a whole number that counts up in tables that do not say it, unless it is zero."""


class Section(NamedTuple):
    """A section of the settings."""

    kind: type[msgspec.Struct]
    is_of_feature: bool = False
    mirror: Mirror | None = None
    """By what names it takes what the section of the same class takes, if it is one of another layer."""


class Settings(Generic[T]):
    """The settings of a schema, whose sections are structs of plain values, and of features.

    A setting's flag, variable and key follow from its name, which must be unique across sections.
    """

    def __init__(
        self,
        schema: type[T],
        presets: Mapping[str, Mapping[str, Any]] | None = None,
        tables: Tables | None = None,
        given: str | None = None,
        features: Sequence[str] = (),
    ) -> None:
        """Read a schema; `presets` are other defaults by key, which `--preset` selects by name.

        `given` is the field that has the names of the settings that are not defaults. The sections of `features` are
        in the field with that name, by class and prefix.
        """
        self.features = features
        self._given = given
        self._schema = schema
        self._tables = tables
        self._presets = presets or {}

    @cached_property
    def sections(self) -> Mapping[str, Section]:
        """The sections by name, those of the schema first."""
        found = {name: Section(kind) for name, kind in sections_of(self._schema).items()}
        for name, kind in sections_of_features(self.features):
            found[name] = Section(kind, is_of_feature=True)
            if (mirror := getattr(kind, "mirror", None)) is not None:
                found[mirror.prefix + name] = Section(kind, is_of_feature=True, mirror=mirror)
        return found

    @cached_property
    def all(self) -> tuple[Setting, ...]:
        """All settings; read when they are needed, since a command with a schema of its own has these in vain."""
        found = tuple(
            setting if section.mirror is None else section.mirror.of(setting, name)
            for name, section in self.sections.items()
            for setting in settings_of(name, section.kind)
        )
        names = [setting.name for setting in found]
        assert len(names) == len(set(names)), "two sections share a name"
        return found

    def reads(self, name: str, value: str) -> bool:
        """Return whether a feature reads a variable that is not a setting."""
        readers = (getattr(section.kind, "reads", None) for section in self.sections.values())
        return any(reads(name, value) for reads in readers if reads is not None)

    def load(
        self,
        arguments: Mapping[str, Any],
        environment: Mapping[str, str],
        file: Path | None = None,
        *,
        defaults: Mapping[str, Any] | None = None,
    ) -> T:
        """Merge the sources, and validate the result once; `defaults` are weaker than all but a preset.

        A program may give tables as the value of their name: `{"chains": [{"chain_id": 6565}, …]}`.
        """
        document = {} if file is None else read_toml(file, "--config")
        tables = self._from_tables(f"{file}: ", document)
        given = dict(arguments)
        if self._tables is not None and _has_tables(given.get(self._tables.name)):
            tables = self._from_tables("", given)
        sources = [
            # Nothing is a default, too, where a preset has something.
            self._named(defaults or {}),
            {} if file is None else self._from_file(file, document),
            self._from_environment(environment),
            self._named({name: value for name, value in given.items() if value is not None}),
        ]
        given_by = sources[1:]
        preset = self._from_preset(sources)
        if self._tables is not None and tables:
            # They say how many items there are, which a preset may, too.
            preset = {
                key: entry for key, entry in preset.items() if entry[0].name != self._tables.name
            }
        sources.insert(0, preset)
        config = self._with_given(self._merge(sources), given_by)
        if self._tables is None or not tables:
            return config
        # A table is for one item, and so more specific than a flag.
        tables = [self._counted(table, config, index) for index, table in enumerate(tables)]
        merged = (
            self._with_given(self._merge([*sources, table]), [*given_by, table]) for table in tables
        )
        items: Any = {self._tables.name: tuple(merged)}
        return msgspec.structs.replace(config, **items)

    def _counted(self, table: _Source, config: T, index: int) -> _Source:
        """Return what a table sets, with what counts up from table to table."""
        assert self._tables is not None
        setting = next(known for known in self.all if known.key == self._tables.counted)
        first: int = getattr(getattr(config, setting.section), setting.name)
        if setting.key in table or not first:
            return table
        return {**table, setting.key: (setting, first + index, setting.flag)}

    def _merge(self, sources: Iterable[_Source]) -> T:
        values: dict[str, dict[str, Any]] = {}
        origins: dict[str, str] = {}
        for source in sources:
            for setting, value, origin in source.values():
                values.setdefault(setting.section, {})[setting.field] = _plain(setting, value)
                origins[setting.path] = origin
        for name, section in self.sections.items():
            if (mirror := section.mirror) is not None:
                mirrored = values.get(name.removeprefix(mirror.prefix), {})
                inherited = {key: mirrored[key] for key in mirror.inherited if key in mirrored}
                values[name] = inherited | values.get(name, {})
        return self._convert(values, origins)

    def _with_given(self, config: T, sources: Iterable[_Source]) -> T:
        """Return a configuration that knows which settings these sources have."""
        if self._given is None:
            return config
        names = frozenset(setting.name for source in sources for setting, _, _ in source.values())
        given: Any = {self._given: names}
        return msgspec.structs.replace(config, **given)

    def titles(self) -> dict[str, str]:
        """Return a one-line description of each section, by its name."""
        return {
            name: section.mirror.title
            if section.mirror is not None
            else (section.kind.__doc__ or name).partition("\n")[0]
            for name, section in self.sections.items()
        }

    def _from_preset(self, sources: Iterable[_Source]) -> _Source:
        """Return the defaults of the preset that the strongest source selects."""
        selected = [source[PRESET][1] for source in sources if PRESET in source]
        defaults = self._presets.get(str(selected[-1]), {}) if selected else {}
        return {
            setting.key: (setting, defaults[setting.key], "--preset")
            for setting in self.all
            if setting.key in defaults
        }

    def _from_file(self, path: Path, document: Mapping[str, Any]) -> _Source:
        known = {setting.key: setting for setting in self.all}
        found: _Source = {}
        for key, value in _flatten(document):
            if key not in known:
                raise InvalidConfig(f"{path}: {shown_name(key)}", unknown_key(key, self.all))
            found[key] = (known[key], value, f"{path}: {key}")
        return found

    def _from_tables(self, where: str, document: dict[str, Any]) -> list[_Source]:
        """Take the tables out of a document, and return what each of them sets, by the names of settings."""
        if self._tables is None or self._tables.name not in document:
            return []
        name = self._tables.name
        tables = document.pop(name)
        if not isinstance(tables, list | tuple) or not all(
            isinstance(table, Mapping) for table in tables
        ):
            raise InvalidConfig(f"{where}{name}", f"say [[{name}]], a table for each")
        known = {setting.name: setting for setting in self.all}
        found: list[_Source] = []
        for number, table in enumerate(tables):
            found.append({})
            for key, value in table.items():
                origin = f"{where}{name}[{number}].{shown_name(key)}"
                if key not in known:
                    nearest = similar(key, known)
                    hint = f"did you mean {nearest}?" if nearest else "--help-all lists them"
                    raise InvalidConfig(origin, f"there is no such setting; {hint}")
                setting = known[key]
                if not setting.is_per_chain:
                    raise InvalidConfig(
                        origin, f"it is a setting of {self._tables.scope}: {setting.key}"
                    )
                found[-1][setting.key] = (setting, value, origin)
        return found

    def _from_environment(self, environment: Mapping[str, str]) -> _Source:
        return {
            setting.key: (setting, environment[setting.variable], setting.variable)
            for setting in self.all
            if setting.variable in environment
        }

    def _named(self, values: Mapping[str, Any]) -> _Source:
        return {
            setting.key: (setting, values[setting.name], setting.flag)
            for setting in self.all
            if setting.name in values
        }

    def _convert(self, values: dict[str, dict[str, Any]], origins: dict[str, str]) -> T:
        own: dict[str, Any] = {}
        of_features: dict[tuple[type[msgspec.Struct], str], msgspec.Struct] = {}
        for name in values:
            kind, is_of_feature, mirror = self.sections[name]
            section = self._section(name, values, origins)
            if is_of_feature:
                of_features[kind, mirror.prefix if mirror is not None else ""] = section
            else:
                own[name] = section
        return self._schema(**own, **({"features": of_features} if of_features else {}))

    def _section(
        self, name: str, values: dict[str, dict[str, Any]], origins: dict[str, str]
    ) -> msgspec.Struct:
        try:
            return msgspec.convert(values[name], self.sections[name].kind, strict=False)
        except msgspec.ValidationError as error:
            problem, _, path = str(error).partition(" - at `$.")
            item = f"{name}.{path.rstrip('`')}"
            key = item.partition("[")[0]
            problem = self._problem(key, item, values, problem)
            raise InvalidConfig(origins.get(key, key), problem) from error
        except UnicodeEncodeError as error:
            wrong = (field for field, value in values[name].items() if not _has_encoding(value))
            key = f"{name}.{next(wrong, '')}"
            raise InvalidConfig(origins.get(key, key), "it is not UTF-8") from error

    def _problem(self, key: str, item: str, values: dict[str, dict[str, Any]], problem: str) -> str:
        """Return the problem of a setting, or of an item of it; of one with enumerated values, with these values."""
        setting = next((known for known in self.all if known.path == key), None)
        if setting is None or not setting.choices:
            metavar, factor = (None, 1) if setting is None else (setting.metavar, setting.factor)
            return wrong_value(problem, value_at(values, item), metavar, factor)
        return none_of(str(values[setting.section][setting.field]), setting.choices)


def _has_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)


def _has_encoding(value: Any) -> bool:
    """Return whether the texts of a value were UTF-8 where they come from."""
    items = value if isinstance(value, list | tuple) else [value]
    return all(
        item.isascii() or item == item.encode(errors="ignore").decode()
        for item in items
        if isinstance(item, str)
    )


def _plain(setting: Setting, value: Any) -> Any:
    """Return a number in units of the field, the values of a list that was written on one line, others as they are."""
    if setting.factor != 1:
        with contextlib.suppress(TypeError, ValueError):
            return float(value) / setting.factor
    if not setting.is_list:
        return value
    if isinstance(value, str):
        return split_list(value, "\n" if setting.is_repeated else ",")
    # A program or a file may have numbers, and one alone.
    items = value if isinstance(value, list | tuple) else [value] if type(value) is int else None
    return value if items is None else [str(item) if type(item) is int else item for item in items]


def _flatten(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, values in document.items():
        if not isinstance(values, Mapping):
            yield section, values
            continue
        for name, value in values.items():
            yield f"{section}.{name}", value
