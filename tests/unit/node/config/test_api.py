"""Presets: other defaults, by which tools recognise a development node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entresol.cli.parsers import node_parser
from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS, NodeConfig


def load(*flags: str, **environment: str) -> NodeConfig:
    return SETTINGS.load(node_parser().parse(flags), environment)


def chosen(config: NodeConfig) -> tuple[int, int, bool]:
    return config.chain.chain_id, config.l1.l1_chain_id, config.api.hardhat_errors


@pytest.mark.parametrize(
    ("preset", "expected"), [("anvil", (31337, 1337, False)), ("hardhat", (31337, 1337, True))]
)
def test_a_preset_is_other_defaults(preset: str, expected: tuple[Any, ...]) -> None:
    assert chosen(load("--preset", preset)) == expected
    assert chosen(load(ENTRESOL_PRESET=preset)) == expected
    assert chosen(load()) == (270, 31337, False)


def test_every_other_source_is_stronger_than_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text('[api]\npreset = "anvil"\n[l1]\nl1_chain_id = 5\n', encoding="utf-8")
    environment = {"ENTRESOL_PRESET": "hardhat", "ENTRESOL_CHAIN_ID": "7"}
    config = SETTINGS.load({}, environment, file)
    assert chosen(config) == (7, 5, True)


@pytest.mark.parametrize("preset", ["ganache", "['anvil']"])
def test_an_unknown_preset_is_named(preset: str) -> None:
    with pytest.raises(InvalidConfig, match="--preset"):
        load("--preset", preset)


@pytest.mark.parametrize(
    ("flags", "fails"),
    [
        ((), True),
        (("--hardhat-call-failures",), True),
        (("--hardhat-call-failures", "false"), False),
        (("--hardhat-call-failures=true",), True),
    ],
)
def test_whether_calls_fail_is_written_behind_the_flag(flags: tuple[str, ...], fails: bool) -> None:
    assert load(*flags).api.hardhat_call_failures is fails
