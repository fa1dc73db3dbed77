"""Sealing on request, with details, and by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from entresol.chain.mining_schedule import MiningMode
from entresol.features.dev.methods.mining import MineDetailed
from entresol.node.config.api import ApiConfig
from entresol.rpc.services.rendered_chain import PendingTransactions, RenderedChain, Result
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.api_client import REVERT, TARGET, ApiClient, running_api
from tests.support.chain.dev_chain import ALICE, open_chain, transaction
from tests.support.rpc_client import NamespaceClient, RpcError


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
    assert client.error("evm_mine", *params).code == -32602
    assert client.chain.number == 0


@pytest.mark.parametrize("method", ["evm_mine", "anvil_mine"])
async def test_other_requests_are_served_while_many_blocks_are_sealed(
    client: ApiClient, method: str
) -> None:
    params = [{"blocks": 100}] if method == "evm_mine" else [100]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    mining = asyncio.ensure_future(client.handle(json.dumps(body).encode()))
    await asyncio.sleep(0)
    reached = client.chain.number
    await mining
    assert 0 < reached < 100
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


def test_hardhats_timer_seals_a_block(client: ApiClient) -> None:
    assert client("hardhat_intervalMine") is True
    assert client.chain.number == 1


RETURNS_7 = "0x60075f5260205ff3"


@pytest.mark.parametrize("prefix", ["evm", "anvil"])
@pytest.mark.parametrize(
    ("code", "output", "reason"), [(RETURNS_7, "0x" + "00" * 31 + "07", None), (REVERT, None, "no")]
)
def test_a_transaction_has_its_output_and_the_reason_of_a_revert(
    client: ApiClient, prefix: str, code: str, output: str | None, reason: str | None
) -> None:
    client("anvil_setCode", TARGET, code)
    client("evm_setAutomine", False)
    sent = client("eth_sendTransaction", {"from": str(ALICE), "to": TARGET, "gas": 100_000})
    (block,) = client(f"{prefix}_mine_detailed")
    (transaction,) = block["transactions"]
    assert block["number"] == "0x1"
    assert transaction["hash"] == sent
    assert transaction.get("revertReason") == reason
    assert output in {None, transaction["output"]}


def test_too_many_blocks_with_details_are_rejected(client: ApiClient) -> None:
    with pytest.raises(RpcError, match="one request seals at most 1000 blocks"):
        client("evm_mine_detailed", {"blocks": 1_001})


class Reverting(RenderedChain):
    """Finds no block 2, as if it had been reverted since it was sealed."""

    def block(self, number: int, *, full: bool) -> Result:
        return None if number == 2 else super().block(number, full=full)


def test_a_block_that_was_reverted_meanwhile_is_left_out() -> None:
    chain = open_chain()
    pending = PendingTransactions(chain.pool, chain.filler.priority)
    rendered = Reverting(270, chain.blocks, pending, chain.builder.pending_block)
    client = NamespaceClient(MineDetailed("evm", chain, InlineSequencer(chain), rendered))
    with closing(chain), closing(client):
        blocks = client("evm_mine_detailed", {"blocks": 3})
    assert [block["number"] for block in blocks] == ["0x1", "0x3"]


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
    rejection = client.error(f"{prefix}_setNextBlockTimestamp", 7_776)
    assert rejection.code == -32602
    text = "Timestamp error: 7776 is lower than previous block's timestamp"
    assert rejection.message == text


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
    assert client.error("evm_setIntervalMining", interval).code == -32602


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


def test_in_hardhat_anvils_own_names_take_seconds(hardhat: ApiClient) -> None:
    hardhat("anvil_setIntervalMining", 5)
    assert hardhat.chain.schedule.interval_seconds == 5.0


def test_in_hardhat_the_time_of_the_head_is_rejected(hardhat: ApiClient) -> None:
    hardhat("evm_mine", 7_777)
    rejection = hardhat.error("evm_setNextBlockTimestamp", 7_777)
    assert rejection.code == -32000
    assert rejection.message.startswith(
        "Timestamp 7777 is equal to the previous block's timestamp."
    )
    assert hardhat("evm_setNextBlockTimestamp", 7_778) == "7778"
    hardhat("evm_mine")
    assert hardhat.chain.head.timestamp == 7_778
    with pytest.raises(RpcError, match="is lower than previous block's timestamp"):
        hardhat("evm_setNextBlockTimestamp", 7_777)
