"""Snapshots, time and mining modes."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE
from tests.support.rpc_client import RpcError

time_travellers = pytest.mark.parametrize("prefix", ["evm", "anvil"])


@time_travellers
def test_a_time_after_which_nothing_can_come_is_rejected(client: ApiClient, prefix: str) -> None:
    for name in ("increaseTime", "setTime", "setNextBlockTimestamp"):
        with pytest.raises(RpcError, match="The timestamp is too big") as rejection:
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
    assert client(f"{prefix}_increaseTime", 60) == 60
    assert client(f"{prefix}_increaseTime", "0x3c") == 120
    assert client(f"{prefix}_increaseTime", "60") == 180
    assert client.chain.clock.now() == now + 180
    assert client(f"{prefix}_setTime", now + 500) == 320
    assert client.chain.clock.now() == now + 500
    assert client(f"{prefix}_setTime", now) == 0


def test_time_moves_from_the_head_that_quick_blocks_have_moved(client: ApiClient) -> None:
    client("anvil_mine", 20)
    head = client.chain.head.timestamp
    client("evm_increaseTime", 60)
    client("evm_mine")
    assert client.chain.head.timestamp == head + 60


def test_a_time_of_13_digits_is_in_milliseconds(client: ApiClient) -> None:
    client("evm_setTime", 1_800_000_000_000)
    assert client.chain.clock.now() == 1_800_000_000


def test_time_is_set_back_and_blocks_still_go_forward(client: ApiClient) -> None:
    client("evm_setTime", 9_000)
    client("evm_mine")
    assert client("evm_setTime", 5_000) == 0
    client("evm_mine")
    assert client.chain.clock.now() == 5_000
    assert client.chain.head.timestamp == 9_001


def test_a_gas_limit_that_no_deriver_executes_is_rejected(client: ApiClient) -> None:
    client.chain.rules = structs.replace(client.chain.rules, publishes=True)
    with pytest.raises(
        RpcError, match=r"gasLimit.*at most 1000000000, got 1000000001"
    ) as rejection:
        client("evm_setBlockGasLimit", 1_000_000_001)
    assert rejection.value.code == -32602
    assert client("evm_setBlockGasLimit", 1_000_000_000) is True


@time_travellers
def test_the_gas_limit_of_blocks_is_set_and_reverted(client: ApiClient, prefix: str) -> None:
    snapshot = client("evm_snapshot")
    assert client(f"{prefix}_setBlockGasLimit", 1_000_000) is True
    client("evm_mine")
    client("evm_mine")
    assert client.chain.head.gas_limit == 1_000_000
    too_much = {"from": str(ALICE), "to": str(ALICE), "gas": 1_000_001}
    with pytest.raises(RpcError, match="exceeds block gas limit"):
        client("eth_sendTransaction", too_much)
    client("evm_revert", snapshot)
    assert client("eth_sendTransaction", too_much)
    assert client.chain.head.gas_limit == client.chain.rules.gas_limit
