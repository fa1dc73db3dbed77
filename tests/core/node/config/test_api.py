"""Presets: other defaults, by which tools recognise a development node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entresol.cli.parsers import node_parser
from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.layer_two_configs import layer_two_configs


def load(*flags: str, **environment: str) -> NodeConfig:
    return SETTINGS.load(node_parser().parse(flags), environment)


def chosen(config: NodeConfig) -> tuple[int, int, bool]:
    return config.chain.chain_id, config.l1.l1_chain_id, config.api.hardhat_errors


def ids_and_ports(config: NodeConfig) -> list[tuple[int, int]]:
    return [
        (layer_two_config.chain.chain_id, layer_two_config.server.port)
        for layer_two_config in layer_two_configs(config)
    ]


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
def test_an_unknown_preset_is_named_with_those_that_exist(preset: str) -> None:
    with pytest.raises(InvalidConfig, match=r"--preset: .*anvil, hardhat, zksync-os"):
        load("--preset", preset)


def test_the_preset_of_the_zk_stack_has_the_ids_and_ports_of_its_guides() -> None:
    config = load("--preset", "zksync-os")
    assert ids_and_ports(config) == [(6565, 3050), (6566, 3051)]
    assert config.chain.block_time == 1.0
    l1 = config.l1
    assert (l1.l1_chain_id, l1.l1_port, l1.l1_extra_port) == (31337, 8545, 3052)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--port", "0"), [(6565, 0), (6566, 0)]),
        (("--chain-id", "7"), [(7, 3050), (8, 3051)]),
        (("--chains", "1"), [(6565, 3050)]),
        (("--chains", "5:1,6:2"), [(5, 1), (6, 2)]),
    ],
)
def test_flags_override_the_chains_of_a_preset(
    flags: tuple[str, ...], expected: list[tuple[int, int]]
) -> None:
    assert ids_and_ports(load("--preset", "zksync-os", *flags)) == expected


def test_tables_of_chains_override_those_of_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    tables = "[[chains]]\nchain_id = 1\nport = 11\n[[chains]]\nchain_id = 2\nport = 12\n"
    file.write_text(f'[api]\npreset = "zksync-os"\n{tables}', encoding="utf-8")
    config = SETTINGS.load({}, {}, file)
    assert ids_and_ports(config) == [(1, 11), (2, 12)]
    assert config.l1.l1_extra_port == 3052
