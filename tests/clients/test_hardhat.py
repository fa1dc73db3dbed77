"""Hardhat's own plugins, that of OpenZeppelin and viem's actions on both layers: the checks are in the files of `js/`."""

from __future__ import annotations

from contextlib import closing
from functools import cache
from typing import Final

import pytest

from entresol.contracts import artifact
from entresol.primitives.values import Data
from entresol.rollup.system_contracts import CONTRACTS, MULTICALL
from tests.support.clients.accounts import ALICE
from tests.support.clients.javascript import Results, checks_of, run_checks
from tests.support.clients.layers import running_layers
from tests.support.inprocess_node import inprocess_anvil, inprocess_node
from tests.support.rpc_client import HttpRpcClient
from tests.support.run.examples import tries_many

pytestmark = pytest.mark.clients

FILES: Final = (
    "hardhat-helpers.mjs", "hardhat-matchers.mjs", "hardhat-upgrades.mjs", "viem-actions.mjs",
)  # fmt: skip
LAYERS: Final = ("L1", "L2", "anvil") if tries_many() else ("L2",)
"""The presets of a node, and the L1 of `entresol anvil`, which serves what that of a node does."""


@cache
def results(file: str, layer: str) -> Results:
    """Run a file on a layer of a node of its own, once."""
    if layer == "anvil":
        with inprocess_anvil("anvil") as node:
            # As anvil it starts without the contract that viem's multicall expects.
            code = Data(artifact(CONTRACTS[MULTICALL]).runtime)
            node("anvil_setCode", str(MULTICALL), str(code))
            return run_checks(file, node.url)
    with running_layers("embedded", "--l1-delay", "0") as layers:
        return run_checks(file, layers.url if layer == "L2" else layers.l1_url, layers.l1_url)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(
    ("file", "check"), [(file, check) for file in FILES for check in checks_of(file)]
)
def test_a_tool_works(file: str, check: str, layer: str) -> None:
    problem = results(file, layer)[check]
    assert problem is None, problem


RECOGNISED: Final = "development-network.mjs"
PRESETS: Final = ("anvil", "hardhat") if tries_many() else ("hardhat",)


@cache
def recognised(preset: str) -> Results:
    """Ask tools what they take an L2 with a preset for, once."""
    with inprocess_node("--preset", preset) as node:
        return run_checks(RECOGNISED, node.url)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("check", checks_of(RECOGNISED))
def test_an_l2_with_a_preset_is_a_development_node_to_tools(check: str, preset: str) -> None:
    problem = recognised(preset)[check]
    assert problem is None, problem


@pytest.mark.parametrize("flags", [("--preset", "anvil"), ("--client-version", "anvil/v1.7.1")])
def test_ape_takes_an_l2_for_anvil(flags: tuple[str, ...]) -> None:
    """Its plugin connects to a node whose client version has the word in it, and to no other."""
    with inprocess_node(*flags) as node, closing(HttpRpcClient(node.url)) as client:
        assert "anvil" in client("web3_clientVersion").lower()
        snapshot = client("evm_snapshot")
        client("anvil_setBalance", ALICE.address, hex(7))
        assert client("evm_revert", snapshot) is True
        assert client("anvil_getAutomine") is True
