"""`eth_config`."""

from __future__ import annotations

import msgspec
import pytest

from entresol._native import Rules
from entresol.chain.rules import FORKS
from entresol.rpc.namespaces.eth.client import EthConfig
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import RULES


def test_the_fork_of_the_chain_is_described(client: ApiClient) -> None:
    config = client("eth_config")
    assert (config["next"], config["last"]) == (None, None)
    current = config["current"]
    assert current["chainId"] == "0x10e"
    assert current["blobSchedule"] == {"baseFeeUpdateFraction": 5_007_716, "max": 9, "target": 6}
    assert current["precompiles"]["P256VERIFY"] == "0x" + "00" * 18 + "0100"
    assert list(current["precompiles"]) == sorted(current["precompiles"])


@pytest.mark.parametrize("fork", FORKS)
def test_every_precompile_of_a_fork_has_a_name(fork: str) -> None:
    config = EthConfig(msgspec.structs.replace(RULES, fork=fork)).config()
    named = set(map(bytes, config.current.precompiles.values()))
    assert named == set(Rules(1, fork).precompiles)
