"""How tools recognise a chain, and when its responses come."""

from __future__ import annotations

import asyncio

import pytest

from entresol.node.api.dialect import CACHED_SECONDS, Dialect
from entresol.node.build_node import build_node
from entresol.node.config.api import ApiConfig
from entresol.node.config.schema import L1Config, NodeConfig


@pytest.mark.parametrize(
    ("config", "begin"),
    [
        (ApiConfig(), "zkSync/v2.0 entresol/v"),
        (ApiConfig(preset="anvil"), "anvil/v1.7.1 entresol/v"),
        (ApiConfig(preset="hardhat"), "HardhatNetwork/2.29.0 entresol/v"),
        (ApiConfig(preset="hardhat", client_version="Geth/v1"), "Geth/v1"),
    ],
)
def test_an_l2_says_what_tools_look_for(config: ApiConfig, begin: str) -> None:
    assert Dialect.layer_two(config).client_version.startswith(begin)


def test_the_l1_below_is_anvils_whatever_the_l2_is() -> None:
    config = ApiConfig(preset="hardhat", client_version="Geth/v1")
    assert Dialect.layer_one(config).client_version.startswith("anvil/v1.7.1 ")
    assert Dialect.anvil(config).client_version == "Geth/v1"


@pytest.mark.parametrize(("delay", "held"), [(None, CACHED_SECONDS), (0.0, 0.0), (0.5, 0.0)])
def test_the_l1_holds_responses_unless_there_is_a_delay(delay: float | None, held: float) -> None:
    node = build_node(NodeConfig(l1=L1Config(l1_delay=delay)))
    try:
        found = [service.api.services.dialect.held_seconds for service in node.services]
        assert found == [0.0, held]
    finally:
        asyncio.run(node.stop())
