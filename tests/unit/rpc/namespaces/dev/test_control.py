"""What developers do to a chain of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from entresol.chain.dev.keyring import Keyring
from entresol.chain.mining import MiningMode
from entresol.node.config.schema import ApiConfig
from tests.support.chain.api_client import ACCOUNTS, Client
from tests.support.chain.dev_chain import ALICE, NOBODY, open_chain, transaction
from tests.support.rpc_client import RpcError

time_travellers = pytest.mark.parametrize("prefix", ["evm", "anvil"])
editors = pytest.mark.parametrize("prefix", ["anvil", "hardhat"])


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
def test_mining_takes_a_time_and_a_number_of_blocks(
    client: Client, params: list[object], blocks: int, timestamp: int | None
) -> None:
    assert client("evm_mine", *params) == "0x0"
    assert client.chain.number == blocks
    if timestamp is not None:
        assert client("eth_getBlockByNumber", "0x1", False)["timestamp"] == hex(timestamp)


@pytest.mark.parametrize("params", [["soon"], [{"blocks": "many"}], [[]], [True]])
def test_mining_rejects_what_is_no_time(client: Client, params: list[object]) -> None:
    with pytest.raises(RpcError) as rejection:
        client("evm_mine", *params)
    assert rejection.value.code == -32602
    assert client.chain.number == 0


@editors
def test_blocks_are_sealed_some_seconds_apart(client: Client, prefix: str) -> None:
    client(f"{prefix}_mine", "0x3", 60)
    times = [client.chain.ledger.header(number).timestamp for number in range(1, 4)]
    assert [later - sooner for sooner, later in pairwise(times)] == [60, 60]


@pytest.mark.parametrize("method", ["evm_mine", "anvil_mine"])
def test_others_are_answered_while_many_blocks_are_sealed(client: Client, method: str) -> None:
    async def race() -> int:
        params = [{"blocks": 100}] if method == "evm_mine" else [100]
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        mining = asyncio.ensure_future(client.ask(json.dumps(body).encode()))
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
def test_nobody_seals_for_ever(client: Client, method: str, params: list[object]) -> None:
    with pytest.raises(RpcError, match="one request seals at most 100000 blocks") as rejection:
        client(method, *params)
    assert rejection.value.code == -32602
    client("evm_mine")
    assert client.chain.number == 1
    assert client.chain.head.timestamp != 5_000


@time_travellers
def test_a_time_after_which_nothing_can_come_is_rejected(client: Client, prefix: str) -> None:
    for name in ("increaseTime", "setTime", "setNextBlockTimestamp"):
        with pytest.raises(RpcError, match="is too late") as rejection:
            client(f"{prefix}_{name}", 2**64 - 1)
        assert rejection.value.code == -32602
    client("evm_mine")


@time_travellers
def test_a_chain_goes_back_to_a_snapshot(client: Client, prefix: str) -> None:
    snapshot = client(f"{prefix}_snapshot")
    client("evm_mine")
    assert client(f"{prefix}_revert", snapshot) is True
    assert client.chain.number == 0
    assert client(f"{prefix}_revert", snapshot) is False


@time_travellers
def test_the_time_moves(client: Client, prefix: str) -> None:
    now = client.chain.clock.now()
    assert client(f"{prefix}_increaseTime", 60) == hex(60)
    assert client(f"{prefix}_increaseTime", "0x3c") == hex(120)
    assert client.chain.clock.now() == now + 120
    assert client(f"{prefix}_setTime", now + 500) == hex(380)
    assert client.chain.clock.now() == now + 500
    assert client(f"{prefix}_setTime", now) == "0x0"


@time_travellers
def test_the_next_block_gets_the_time_that_was_ordered(client: Client, prefix: str) -> None:
    assert client(f"{prefix}_setNextBlockTimestamp", 7_777) is None
    client("evm_mine")
    assert client.chain.head.timestamp == 7_777
    with pytest.raises(RpcError) as rejection:
        client(f"{prefix}_setNextBlockTimestamp", 7_777)
    assert rejection.value.code == -32602


@time_travellers
def test_sealing_is_switched(client: Client, prefix: str) -> None:
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


@editors
def test_accounts_are_edited(client: Client, prefix: str) -> None:
    address = str(NOBODY)
    assert client(f"{prefix}_setBalance", address, "0x7") is None
    assert client(f"{prefix}_setNonce", address, "0x5") is None
    assert client(f"{prefix}_setCode", address, "0x6001") is None
    assert client(f"{prefix}_setStorageAt", address, "0x1", "0x" + "22" * 32) is True
    assert client("eth_getAccountInfo", address) == {
        "balance": "0x7",
        "nonce": "0x5",
        "code": "0x6001",
    }
    assert client("eth_getStorageAt", address, "0x1") == "0x" + "22" * 32


@pytest.fixture
def without() -> Iterator[Client]:
    chain = open_chain()
    client = Client(chain, keyring=Keyring(ACCOUNTS), config=ApiConfig(dev_methods=False))
    yield client
    client.api.close()
    chain.close()


@pytest.mark.parametrize(
    "method",
    ["evm_mine", "evm_snapshot", "anvil_setBalance", "anvil_impersonateAccount", "hardhat_mine"],
)
def test_all_of_it_can_be_turned_off(without: Client, method: str) -> None:
    with pytest.raises(RpcError) as rejection:
        without(method)
    assert rejection.value.code == -32601
    assert rejection.value.message == f"the method {method} does not exist/is not available"
    assert not {"evm", "anvil", "hardhat"} & without("rpc_modules").keys()


def test_accounts_stay_when_it_is_turned_off(without: Client) -> None:
    assert without("eth_sendTransaction", {"from": str(ALICE), "to": str(NOBODY)})


@pytest.fixture
def locked() -> Iterator[Client]:
    chain = open_chain()
    client = Client(chain, keyring=Keyring(ACCOUNTS, locked="strangers listen"))
    yield client
    client.api.close()
    chain.close()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_sendTransaction", [{"from": str(ALICE), "to": str(NOBODY)}]),
        ("eth_signTransaction", [{"from": str(ALICE), "to": str(NOBODY)}]),
        ("eth_sign", [str(ALICE), "0x"]),
        ("personal_sign", ["0x", str(ALICE)]),
        ("anvil_impersonateAccount", [str(NOBODY)]),
        ("hardhat_impersonateAccount", [str(NOBODY)]),
        ("anvil_autoImpersonateAccount", [True]),
    ],
)
def test_locked_accounts_do_nothing_and_say_why(
    locked: Client, method: str, params: list[object]
) -> None:
    assert locked("eth_accounts") == []
    with pytest.raises(RpcError) as rejection:
        locked(method, *params)
    assert rejection.value.code == -32000
    assert rejection.value.message == "the accounts of this node are locked: strangers listen"


def timestamps(client: Client, count: int) -> list[int]:
    head = client.chain.head.number
    numbers = range(head - count + 1, head + 1)
    return [int(client("eth_getBlockByNumber", hex(n), False)["timestamp"], 16) for n in numbers]


@pytest.mark.parametrize("name", ["anvil_mine", "hardhat_mine"])
def test_an_interval_lies_between_the_blocks(client: Client, name: str) -> None:
    client(name, "0x3", "0x3c")
    first, second, third = timestamps(client, 3)
    assert (second - first, third - second) == (60, 60)


def test_without_an_interval_moved_time_counts(client: Client) -> None:
    client("evm_mine")
    client("evm_increaseTime", 3_600)
    client("anvil_mine", "0x2", "0x0")
    before, first, _ = timestamps(client, 3)
    assert first - before >= 3_600
