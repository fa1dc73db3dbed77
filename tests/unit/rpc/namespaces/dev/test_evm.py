"""Snapshots, time and mining modes."""

from __future__ import annotations

import pytest

from entresol.chain.mining import MiningMode
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import transaction
from tests.support.rpc_client import RpcError

time_travellers = pytest.mark.parametrize("prefix", ["evm", "anvil"])


@time_travellers
def test_a_time_after_which_nothing_can_come_is_rejected(client: ApiClient, prefix: str) -> None:
    for name in ("increaseTime", "setTime", "setNextBlockTimestamp"):
        with pytest.raises(RpcError, match="is too late") as rejection:
            client(f"{prefix}_{name}", 2**64 - 1)
        assert rejection.value.code == -32602
    client("evm_mine")


@time_travellers
def test_a_chain_reverts_to_a_snapshot(client: ApiClient, prefix: str) -> None:
    snapshot = client(f"{prefix}_snapshot")
    client("evm_mine")
    assert client(f"{prefix}_revert", snapshot) is True
    assert client.chain.number == 0
    assert client(f"{prefix}_revert", snapshot) is False


@time_travellers
def test_the_time_moves(client: ApiClient, prefix: str) -> None:
    now = client.chain.clock.now()
    assert client(f"{prefix}_increaseTime", 60) == hex(60)
    assert client(f"{prefix}_increaseTime", "0x3c") == hex(120)
    assert client.chain.clock.now() == now + 120
    assert client(f"{prefix}_setTime", now + 500) == hex(380)
    assert client.chain.clock.now() == now + 500
    assert client(f"{prefix}_setTime", now) == "0x0"


@time_travellers
def test_the_next_block_gets_the_time_that_was_ordered(client: ApiClient, prefix: str) -> None:
    assert client(f"{prefix}_setNextBlockTimestamp", 7_777) is None
    client("evm_mine")
    assert client.chain.head.timestamp == 7_777
    with pytest.raises(RpcError) as rejection:
        client(f"{prefix}_setNextBlockTimestamp", 7_777)
    assert rejection.value.code == -32602


@time_travellers
def test_sealing_is_switched(client: ApiClient, prefix: str) -> None:
    assert client("anvil_getAutomine") is client("hardhat_getAutomine") is True
    client(f"{prefix}_setAutomine", False)
    client.chain.add(transaction(0))
    assert client("anvil_getAutomine") is client("hardhat_getAutomine") is False
    client(f"{prefix}_setAutomine", True)
    assert client.chain.number == 1
    client(f"{prefix}_setIntervalMining", 5)
    assert client("anvil_getIntervalMining") == 5
    client(f"{prefix}_setIntervalMining", 0)
    assert client.chain.schedule.mode is MiningMode.MANUAL
    assert client("anvil_getIntervalMining") is None
