from __future__ import annotations

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
    is_locked: Annotated[
        bool, Meta(description="Whether it is locked.", extra={"aliases": ("--shut",)})
    ] = False


class House(msgspec.Struct, frozen=True, kw_only=True):
    door: Door = Door()


SETTINGS = Settings(House)


def test_an_unknown_flag_is_rejected_with_a_suggestion() -> None:
    parser = Parser()
    add_flags(parser, SETTINGS.all, SETTINGS.titles())
    with pytest.raises(InvalidConfig, match=r"there is no such flag; did you mean --width\?"):
        parser.parse(["--widht", "3"])


@pytest.mark.parametrize("flag", ["--is-locked", "--shut"])
def test_a_setting_may_have_several_flags(flag: str) -> None:
    parser = Parser()
    parser.add_argument("--config")
    add_flags(parser, SETTINGS.all, SETTINGS.titles())
    assert SETTINGS.load(parser.parse([flag]), {}).door.is_locked


MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (MNEMONIC.split(), "unrecognized arguments: 'legal' and 11 more; see --help"),
        (["house"], "unrecognized arguments: 'house'; see --help"),
        ([MNEMONIC], "unrecognized arguments: a value of 12 words; see --help"),
        ([f"--floor={MNEMONIC}"], "argument --floor: expected a whole number, got a value of 12"),
        ([f"--is-locked={MNEMONIC}"], "ignored explicit argument a value of 12 words"),
        ([f"--name {MNEMONIC}"], "--name: there is no such flag; its value is a word of its own"),
    ],
)
def test_words_of_a_mnemonic_are_not_repeated(words: list[str], problem: str) -> None:
    parser = Parser()
    parser.add_argument("--floor", type=int)
    add_flags(parser, SETTINGS.all, SETTINGS.titles())
    with pytest.raises(InvalidConfig) as caught:
        parser.parse(words)
    shown = str(caught.value)
    assert problem.removeprefix("argument ") in shown
    assert sum(it in shown for it in set(MNEMONIC.split())) <= 1
