"""Sealing blocks on request."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest

from tests.support.chain.api_client import ApiClient
from tests.support.rpc_client import RpcError


@pytest.mark.parametrize(
    ("params", "blocks", "timestamp"),
    [
        ([], 1, None),
        ([None], 1, None),
        ([5_000], 1, 5_000),
        (["0x1388"], 1, 5_000),
        ([{}], 1, None),
        ([{"blocks": 3}], 3, None),
        ([{"timestamp": 5_000}], 1, 5_000),
        ([{"timestamp": "0x1388", "blocks": "0x2"}], 2, 5_000),
        ([{"timestamp": None, "blocks": None}], 1, None),
    ],
)
def test_mining_accepts_a_timestamp_and_a_number_of_blocks(
    client: ApiClient, params: list[object], blocks: int, timestamp: int | None
) -> None:
    assert client("evm_mine", *params) == "0x0"
    assert client.chain.number == blocks
    if timestamp is not None:
        assert client("eth_getBlockByNumber", "0x1", False)["timestamp"] == hex(timestamp)


@pytest.mark.parametrize("params", [["soon"], [{"blocks": "many"}], [[]], [True]])
def test_mining_rejects_what_is_no_time(client: ApiClient, params: list[object]) -> None:
    with pytest.raises(RpcError) as rejection:
        client("evm_mine", *params)
    assert rejection.value.code == -32602
    assert client.chain.number == 0


@pytest.mark.parametrize("method", ["evm_mine", "anvil_mine"])
def test_other_requests_are_served_while_many_blocks_are_sealed(
    client: ApiClient, method: str
) -> None:
    async def race() -> int:
        params = [{"blocks": 100}] if method == "evm_mine" else [100]
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        mining = asyncio.ensure_future(client.handle(json.dumps(body).encode()))
        await asyncio.sleep(0)
        reached = client.chain.number
        await mining
        return reached

    assert 0 < asyncio.run(race()) < 100
    assert client.chain.number == 100


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("evm_mine", [{"blocks": 100_001, "timestamp": 5_000}]),
        ("anvil_mine", [2**64 - 1]),
        ("hardhat_mine", ["0xffffffffffffffff", 1]),
    ],
)
def test_too_many_blocks_are_rejected(client: ApiClient, method: str, params: list[object]) -> None:
    with pytest.raises(RpcError, match="one request seals at most 100000 blocks") as rejection:
        client(method, *params)
    assert rejection.value.code == -32602
    client("evm_mine")
    assert client.chain.number == 1
    assert client.chain.head.timestamp != 5_000


def timestamps(client: ApiClient, count: int) -> list[int]:
    head = client.chain.head.number
    numbers = range(head - count + 1, head + 1)
    return [int(client("eth_getBlockByNumber", hex(n), False)["timestamp"], 16) for n in numbers]


def test_anvil_moves_the_time_before_each_block(client: ApiClient) -> None:
    client("evm_mine")
    assert client("anvil_mine", "0x3", "0x3c") is None
    times = timestamps(client, 4)
    assert [later - sooner for sooner, later in pairwise(times)] == [60, 60, 60]


def test_hardhat_moves_it_between_the_blocks(client: ApiClient) -> None:
    client("evm_mine")
    assert client("hardhat_mine", 3, 60) is True
    times = timestamps(client, 4)
    assert [later - sooner for sooner, later in pairwise(times)] == [1, 60, 60]


def test_the_blocks_of_hardhat_are_a_second_apart(client: ApiClient) -> None:
    client("evm_setTime", 5_000)
    client("hardhat_mine", "0x3")
    assert timestamps(client, 3) == [5_000, 5_001, 5_002]


@pytest.mark.parametrize("method", ["anvil_mine", "hardhat_mine"])
def test_no_blocks_are_sealed_if_none_are_wanted(client: ApiClient, method: str) -> None:
    client(method, 0, 60)
    assert client.chain.number == 0


def test_hardhats_timer_seals_a_block(client: ApiClient) -> None:
    assert client("hardhat_intervalMine") is True
    assert client.chain.number == 1


def test_without_an_interval_moved_time_counts(client: ApiClient) -> None:
    client("evm_mine")
    client("evm_increaseTime", 3_600)
    client("anvil_mine", "0x2", "0x0")
    before, first, _ = timestamps(client, 3)
    assert first - before >= 3_600
