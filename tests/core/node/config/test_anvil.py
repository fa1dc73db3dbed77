"""The variables that `entresol anvil` reads, and what its flags beside anvil's set."""

from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.node.config.anvil import ANVIL_SETTINGS, anvil_environment, node_config
from entresol.node.config.api import ApiConfig


def api(**environment: str) -> ApiConfig:
    return node_config(ANVIL_SETTINGS.load({}, anvil_environment(environment))).api


def test_a_variable_of_a_flag_that_anvil_does_not_have_counts() -> None:
    assert api(ENTRESOL_HARDHAT_ERRORS="true").hardhat_errors
    assert not api(ENTRESOL_HARDHAT_CALL_FAILURES="false").hardhat_call_failures
    assert api(ENTRESOL_CLIENT_VERSION="anvil/v9").client_version == "anvil/v9"
    assert not api().hardhat_errors


def test_a_wrong_value_of_it_is_named() -> None:
    with pytest.raises(InvalidConfig, match="ENTRESOL_HARDHAT_ERRORS"):
        api(ENTRESOL_HARDHAT_ERRORS="perhaps")


def test_variables_of_a_pair_do_not_change_it() -> None:
    environment = {"ENTRESOL_PORT": "1", "ENTRESOL_CHAIN_ID": "5", "ANVIL_IP_ADDR": "127.0.0.9"}
    config = node_config(ANVIL_SETTINGS.load({}, anvil_environment(environment)))
    assert (config.server.port, config.chain.chain_id) == (8545, 31337)
    assert config.server.host == "127.0.0.9"
