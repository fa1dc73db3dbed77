"""What was probably meant by a word that is none of those that are expected."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.node.config.anvil import ANVIL_SETTINGS
from entresol.node.config.schema import SETTINGS
from entresol.node.config.setting import Setting
from entresol.node.config.suggestions import none_of, unknown_variables

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


def test_a_word_that_may_be_a_key_is_not_repeated() -> None:
    assert "b" * 33 not in none_of("b" * 64, ("run",))


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
