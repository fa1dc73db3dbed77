"""The node as tools ask about it."""

from __future__ import annotations

import pytest

from tests.support.chain.api_client import ApiClient, running_api

HASH = "0x" + "11" * 32


def test_the_node_describes_itself_as_anvil_does(client: ApiClient) -> None:
    client("evm_setBlockGasLimit", 1_000_000)
    client("evm_mine", 9_000)
    info = client("anvil_nodeInfo")
    assert info == {
        "currentBlockNumber": "0x1",
        "currentBlockTimestamp": 9_000,
        "currentBlockHash": str(client.chain.ledger.head_hash),
        "hardFork": "Osaka",
        "transactionOrder": "fees",
        "environment": {
            "baseFee": hex(client.chain.next_base_fee()),
            "chainId": client.chain.rules.chain_id,
            "gasLimit": hex(1_000_000),
            "gasPrice": client("eth_gasPrice"),
        },
        "forkConfig": {"forkUrl": None, "forkBlockNumber": None, "forkRetryBackoff": None},
    }


def test_metadata_lists_the_snapshots(client: ApiClient) -> None:
    client("evm_mine")
    snapshot = client("evm_snapshot")
    metadata = client("anvil_metadata")
    head = str(client.chain.ledger.head_hash)
    assert metadata["clientVersion"] == client("web3_clientVersion")
    assert metadata["snapshots"] == {snapshot: [1, head]}
    assert (metadata["latestBlockNumber"], metadata["latestBlockHash"]) == (1, head)
    assert metadata["chainId"] == client.chain.rules.chain_id
    assert metadata["forkedNetwork"] is None


def test_the_metadata_of_hardhat_has_neither_forks_nor_snapshots(client: ApiClient) -> None:
    assert client("hardhat_metadata").keys() == {
        "clientVersion", "chainId", "instanceId", "latestBlockNumber", "latestBlockHash",
    }  # fmt: skip


def test_each_start_has_an_instance_id_of_its_own(client: ApiClient) -> None:
    ours = client("anvil_metadata")["instanceId"]
    assert client("hardhat_metadata")["instanceId"] == ours
    with running_api() as other:
        assert other("anvil_metadata")["instanceId"] != ours


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("anvil_setLoggingEnabled", [False], None),
        ("hardhat_setLoggingEnabled", [False], True),
        ("anvil_getGenesisTime", [], 0),
        ("anvil_setRpcUrl", ["http://localhost"], None),
        ("anvil_getBlobByHash", [HASH], None),
        ("anvil_getBlobsByTransactionHash", [HASH], None),
        ("hardhat_addCompilationResult", ["0.8.30", {}, {}], True),
        ("hardhat_getStackTraceFailuresCount", [], 0),
    ],
)
def test_the_rest_answers(
    client: ApiClient, method: str, params: list[object], result: object
) -> None:
    assert client(method, *params) == result
