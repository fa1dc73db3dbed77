"""Methods of `net`, `web3` and `rpc`, and those of `eth` that describe the node."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from tests.support.chain.api_client import ApiClient
from tests.support.hex_data import hexed


def test_a_node_describes_itself(client: ApiClient) -> None:
    assert client("eth_chainId") == "0x10e"
    assert client("net_version") == "270"
    assert client("net_listening") is False
    assert client("net_peerCount") == "0x0"
    assert client("web3_clientVersion").startswith("anvil/v1.7.1 entresol/v")
    assert client("web3_sha3", "0x") == hexed(keccak256(b""))
    assert client("eth_syncing") is False


EMPTY = "0x" + "00" * 32


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getWork", []),
        ("eth_submitWork", ["0x0000000000000001", EMPTY, EMPTY]),
        ("eth_submitHashrate", ["0x1", EMPTY]),
    ],
)
def test_mining_methods_are_not_supported(
    client: ApiClient, method: str, params: list[object]
) -> None:
    rejection = client.error(method, *params)
    assert rejection.code == -32603
    assert rejection.message == "Not implemented: blocks are sealed, not mined"
    assert (client("eth_mining"), client("eth_hashrate")) == (False, "0x0")


def test_the_namespaces_are_listed(client: ApiClient) -> None:
    prefixes = (
        "anvil debug entresol eth evm hardhat net ots personal rpc tenderly trace txpool web3"
    )
    assert client("rpc_modules") == dict.fromkeys(prefixes.split(), "1.0")


def test_the_network_has_the_id_of_the_chain(client: ApiClient) -> None:
    assert client("eth_networkId") == client("net_version") == "270"
