"""What was probably meant by a word that is none of those that are expected."""

from __future__ import annotations

from typing import Any

import pytest

from entresol.errors import InvalidConfig
from entresol.node.config.anvil import ANVIL_SETTINGS
from entresol.node.config.schema import SETTINGS
from entresol.node.config.setting import Setting
from entresol.node.config.suggestions import none_of, unknown_key, unknown_variables, wrong_value

CHOOSING = [
    (settings, it) for settings in (SETTINGS, ANVIL_SETTINGS) for it in settings.all if it.choices
]


def test_the_nearest_is_named_before_all() -> None:
    assert none_of("merge", ("paris", "prague")) == (
        "'merge' is not known; choose one of paris, prague"
    )
    assert none_of("pragu", ("paris", "prague")) == (
        "'pragu' is not known; did you mean prague? choose one of paris, prague"
    )


@pytest.mark.parametrize(
    ("settings", "setting"), CHOOSING, ids=[f"{it.section} {it.flag}" for _, it in CHOOSING]
)
def test_every_setting_with_choices_names_them(settings: object, setting: Setting) -> None:
    with pytest.raises(InvalidConfig) as caught:
        settings.load({setting.name: "nonsense"}, {})  # type: ignore[attr-defined]
    problem = str(caught.value)
    assert problem.startswith(f"{setting.flag}: 'nonsense' is not known; ")
    assert problem.endswith(", ".join(setting.choices))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ENTRESOL_CHIAN_ID", "did you mean ENTRESOL_CHAIN_ID?"),
        ("ENTRESOL_L1URL", "did you mean ENTRESOL_L1_URL?"),
        ("ENTRESOL_XQ", "it is ignored"),
    ],
)
def test_a_variable_that_is_no_setting_is_named(name: str, hint: str) -> None:
    environment = {name: "1", "ENTRESOL_PORT": "1", "PATH": "x"}
    assert list(unknown_variables(SETTINGS.all, environment)) == [
        (name, f"there is no such setting; {hint}")
    ]


@pytest.mark.parametrize(
    ("problem", "value", "words"),
    [
        ("Expected `int | null`, got `str`", "x", "expected a whole number, got 'x'"),
        ("Expected `int` <= 5", 9, "expected a whole number of at most 5, got 9"),
        ("Expected `float` > 0.0", -1, "expected a number above 0, got -1"),
        ("Expected `bool`, got `str`", "on", "expected true or false, got 'on'"),
        ("Expected `str`, got `bool`", True, "expected text, got true"),
        ("Expected `array`, got `float`", 0.5, "expected a list, got 0.5"),
        (
            "Expected `int | float | str | null`, got `array`",
            [1],
            "expected a number or text, got a list",
        ),
        ("Something else", 1, "Something else"),
    ],
)
def test_a_problem_has_what_is_expected_and_the_value(problem: str, value: Any, words: str) -> None:
    assert wrong_value(problem, value) == words


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("server.chain_id", "did you mean chain.chain_id?"),
        ("chain.chain-id", "did you mean chain.chain_id?"),
        ("serevr.prot", "did you mean server.port?"),
        ("zzzzz.zzzzz", "there are chain, ecosystem, evm, l1, "),
    ],
)
def test_a_key_that_is_no_setting_is_answered_with_what_is_one(key: str, hint: str) -> None:
    assert hint in unknown_key(key, SETTINGS.all)
