from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from entresol.errors import InvalidConfig
from entresol.node.config.flags import Parser, add_flags
from entresol.node.config.loader import Settings


class Door(msgspec.Struct, frozen=True, kw_only=True):
    width: Annotated[int, Meta(description="How wide it is.", ge=1)] = 80
    colour: Annotated[Literal["red", "green"], Meta(description="What it looks like.")] = "red"
    name: Annotated[str | None, Meta(description="What is written on it.")] = None


class Bell(msgspec.Struct, frozen=True, kw_only=True):
    loud: Annotated[bool, Meta(description="Whether it is heard.")] = False
    lit: Annotated[bool, Meta(description="Whether it is seen.")] = True
    seconds: Annotated[float, Meta(description="How long it rings.")] = 1.5


class House(msgspec.Struct, frozen=True, kw_only=True):
    door: Door = Door()
    bell: Bell = Bell()


SETTINGS = Settings(House)


def flags(*arguments: str) -> dict[str, object]:
    parser = Parser()
    add_flags(parser, SETTINGS.all, SETTINGS.titles())
    return parser.parse(arguments)


def test_flags_override_variables_and_these_the_file(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text('[door]\nwidth = 1\ncolour = "green"\nname = "file"\n', encoding="utf-8")
    environment = {"ENTRESOL_WIDTH": "2", "ENTRESOL_NAME": "variable"}
    house = SETTINGS.load(flags("--width", "3"), environment, file)
    assert house.door == Door(width=3, colour="green", name="variable")


def test_a_switch_takes_no_value_and_can_be_turned_off() -> None:
    house = SETTINGS.load(flags("--loud", "--no-lit"), {})
    assert (house.bell.loud, house.bell.lit) == (True, False)


@pytest.mark.parametrize("text", ["true", "1"])
def test_a_variable_can_be_a_switch(text: str) -> None:
    assert SETTINGS.load(flags(), {"ENTRESOL_LOUD": text}).bell.loud


@pytest.mark.parametrize(
    ("arguments", "environment", "problem"),
    [
        (("--width", "0"), {}, "--width: expected a whole number of at least 1, got 0"),
        (("--width", "wide"), {}, "--width: expected a whole number, got 'wide'"),
        (("--colour", "blue"), {}, "--colour: 'blue' is not known; choose one of red, green"),
        ((), {"ENTRESOL_SECONDS": "long"}, "ENTRESOL_SECONDS: expected a number, got 'long'"),
    ],
)
def test_an_invalid_value_is_reported_by_the_name_it_was_set_by(
    arguments: tuple[str, ...], environment: dict[str, str], problem: str
) -> None:
    with pytest.raises(InvalidConfig) as caught:
        SETTINGS.load(flags(*arguments), environment)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[door]\nwidht = 1\n", "door.widht: there is no such setting; did you mean door.width?"),
        ("[bell]\nwidth = 1\n", "bell.width: there is no such setting; did you mean door.width?"),
        ("[dor]\nwidth = 1\n", "dor.width: there is no such setting; did you mean door.width?"),
        ("[door]\nzzz = 1\n", "door.zzz: there is no such setting; [door] has width, colour, name"),
        ("[zzz]\nyyy = 1\n", "zzz.yyy: there is no such section; there are door, bell"),
        ("width = 1\n", "width: there is no such setting; did you mean door.width?"),
        ("door = 1\n", "door: it is a section: write [door], and its settings below it"),
        ("[door]\nwidth = 'x'\n", "door.width: expected a whole number, got 'x'"),
        ("[door]\nname = 5\n", "door.name: expected text, got 5"),
        ("[bell]\nloud = 'x'\n", "bell.loud: expected true or false, got 'x'"),
        ("[door\n", "Expected ']' at the end of a table declaration"),
    ],
)
def test_an_error_in_a_file_names_the_file(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "house.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidConfig) as caught:
        SETTINGS.load(flags(), {}, file)
    assert str(caught.value).startswith(str(file))
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 100_000, "its lists or tables are nested too deeply"),
        ("a = " + "1" * 10_000, "a number has too many digits"),
        (".".join("a" * 50_000) + " = 1", "a key has at most 6 parts (--config)"),
        ("[" + " . ".join(["'a b'"] * 7) + "]", "a key has at most 6 parts (--config)"),
        ("{}.b = 1".format('."x y".'.join("a" * 4)), "a key has at most 6 parts (--config)"),
        ("# " + "x" * (128 << 10), "it has more than 131,072 bytes (--config)"),
    ],
    ids=["nested", "digits", "dotted", "quoted", "mixed", "large"],
)
def test_a_file_that_takes_long_to_read_is_rejected(
    tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "house.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidConfig) as caught:
        SETTINGS.load(flags(), {}, file)
    assert str(caught.value) == f"{file}: {problem}"


def test_a_key_is_shown_without_characters_that_a_terminal_obeys(tmp_path: Path) -> None:
    file = tmp_path / "house.toml"
    file.write_text('"\\u001b\\u202e" = 1')
    with pytest.raises(InvalidConfig) as caught:
        SETTINGS.load({}, {}, file)
    assert f"{file}: \\x1b\\u202e: there is no such section" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "environment", "name"),
    [(("--width", "\udcff"), {}, "--width"), ((), {"ENTRESOL_WIDTH": "\udcff"}, "ENTRESOL_WIDTH")],
)
def test_a_value_that_is_not_text_is_rejected(
    arguments: tuple[str, ...], environment: dict[str, str], name: str
) -> None:
    with pytest.raises(InvalidConfig) as caught:
        SETTINGS.load(flags(*arguments), environment)
    assert str(caught.value) == f"{name}: it is not UTF-8"
