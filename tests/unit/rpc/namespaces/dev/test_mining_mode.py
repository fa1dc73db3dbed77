"""When blocks are sealed, as anvil and as Hardhat take it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.mining_schedule import MiningMode
from entresol.node.config.api import ApiConfig
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import transaction
from tests.support.rpc_client import RpcError

time_travellers = pytest.mark.parametrize("prefix", ["evm", "anvil"])


@pytest.fixture
def hardhat() -> Iterator[ApiClient]:
    with running_api(config=ApiConfig(hardhat_errors=True)) as client:
        yield client


@time_travellers
def test_the_next_block_gets_the_time_that_was_ordered(client: ApiClient, prefix: str) -> None:
    assert client(f"{prefix}_setNextBlockTimestamp", 7_777) is None
    assert client("eth_getBlockByNumber", "pending", False)["timestamp"] == hex(7_777)
    client("evm_mine")
    assert client.chain.head.timestamp == 7_777
    with pytest.raises(RpcError) as rejection:
        client(f"{prefix}_setNextBlockTimestamp", 7_776)
    assert rejection.value.code == -32602
    text = "Timestamp error: 7776 is lower than previous block's timestamp"
    assert rejection.value.message == text


def test_the_time_of_the_head_is_accepted_and_the_block_a_second_later(client: ApiClient) -> None:
    client("evm_mine", 7_777)
    client("evm_setNextBlockTimestamp", 7_777)
    client("evm_mine")
    assert client.chain.head.timestamp == 7_778


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


def test_a_pair_of_numbers_is_milliseconds(client: ApiClient) -> None:
    client("evm_setIntervalMining", [100, 200])
    assert client.chain.schedule.interval_seconds == 0.1
    client("evm_setIntervalMining", [0, 0])
    assert client.chain.schedule.mode is MiningMode.MANUAL


@pytest.mark.parametrize("interval", [[200, 100], [1], [1, 2, 3], ["soon", "late"], -1, True, {}])
def test_other_intervals_are_rejected(client: ApiClient, interval: object) -> None:
    with pytest.raises(RpcError) as rejection:
        client("evm_setIntervalMining", interval)
    assert rejection.value.code == -32602


def test_in_hardhat_an_interval_is_in_milliseconds_and_stands_beside_automine(
    hardhat: ApiClient,
) -> None:
    schedule = hardhat.chain.schedule
    assert hardhat("evm_setIntervalMining", 5_000) is True
    assert (schedule.mode, schedule.interval_seconds) == (MiningMode.MIXED, 5.0)
    assert hardhat("evm_setAutomine", False) is True
    assert (schedule.mode, schedule.interval_seconds) == (MiningMode.INTERVAL, 5.0)
    hardhat("evm_setAutomine", True)
    assert schedule.mode is MiningMode.MIXED
    hardhat("evm_setIntervalMining", [100, 200])
    assert schedule.interval_seconds == 0.1


@pytest.mark.parametrize(
    ("automine", "mode"), [(True, MiningMode.AUTO), (False, MiningMode.MANUAL)]
)
def test_in_hardhat_the_end_of_an_interval_leaves_automine_as_it_is(
    hardhat: ApiClient, automine: bool, mode: MiningMode
) -> None:
    hardhat("evm_setAutomine", automine)
    hardhat("evm_setIntervalMining", 1_000)
    hardhat("evm_setIntervalMining", 0)
    assert hardhat.chain.schedule.mode is mode
    hardhat("evm_setIntervalMining", 0)
    assert hardhat.chain.schedule.mode is mode


def test_in_hardhat_automine_seals_what_is_pending(hardhat: ApiClient) -> None:
    hardhat("evm_setAutomine", False)
    hardhat.chain.add(transaction(0))
    hardhat("evm_setAutomine", True)
    assert hardhat.chain.number == 1


def test_in_hardhat_anvils_own_names_take_seconds(hardhat: ApiClient) -> None:
    hardhat("anvil_setIntervalMining", 5)
    assert hardhat.chain.schedule.interval_seconds == 5.0


def test_in_hardhat_the_time_of_the_head_is_rejected(hardhat: ApiClient) -> None:
    hardhat("evm_mine", 7_777)
    with pytest.raises(RpcError) as rejection:
        hardhat("evm_setNextBlockTimestamp", 7_777)
    assert rejection.value.code == -32000
    assert rejection.value.message.startswith(
        "Timestamp 7777 is equal to the previous block's timestamp."
    )
    assert hardhat("evm_setNextBlockTimestamp", 7_778) == "7778"
    hardhat("evm_mine")
    assert hardhat.chain.head.timestamp == 7_778
    with pytest.raises(RpcError, match="is lower than previous block's timestamp"):
        hardhat("evm_setNextBlockTimestamp", 7_777)
