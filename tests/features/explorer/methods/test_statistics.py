"""`entresol_getBlockStatistics` and `entresol_getBatchStatistics`: what charts draw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from entresol.features.explorer.methods.statistics import (
    EntresolBatchStatistics,
    EntresolBlockStatistics,
)
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy
from entresol.rpc.types.number import Number
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import ALICE, BOB
from tests.support.coroutines import completed
from tests.support.fork.forked_chain import NUMBER, open_fork, remote, waiting
from tests.support.rollup.settling_chain import SettlingChain
from tests.support.rpc_client import NamespaceClient, RpcError

BLOCKS = "entresol_getBlockStatistics"
BATCHES = "entresol_getBatchStatistics"


@pytest.fixture(scope="module")
def client() -> Iterator[ApiClient]:
    with running_api() as found:
        for _ in range(25):
            found.receipt(found("eth_sendTransaction", {"from": str(ALICE), "to": str(BOB)}))
        yield found


def all_buckets(client: ApiClient, size: int, limit: int) -> list[dict[str, Any]]:
    found, following = [], None
    while True:
        page = client(BLOCKS, size, following, limit)
        assert len(page["buckets"]) <= limit
        found += page["buckets"]
        following = page["next"]
        if following is None:
            return found


def test_a_bucket_sums_its_blocks(client: ApiClient) -> None:
    (newest, *_) = client(BLOCKS, 10)["buckets"]
    blocks = [client("eth_getBlockByNumber", hex(number), False) for number in range(20, 26)]
    fees = [int(block["baseFeePerGas"], 16) for block in blocks]
    assert newest == {
        "fromBlock": hex(20),
        "toBlock": hex(25),
        "timestamp": blocks[-1]["timestamp"],
        "transactions": hex(6),
        "gasUsed": hex(6 * 21_000),
        "gasLimit": hex(sum(int(block["gasLimit"], 16) for block in blocks)),
        "baseFeeMin": hex(min(fees)),
        "baseFeeMean": hex(sum(fees) // 6),
        "baseFeeMax": hex(max(fees)),
    }


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_buckets_begin_with_multiples_of_their_size(client: ApiClient, limit: int) -> None:
    ranges = [(bucket["fromBlock"], bucket["toBlock"]) for bucket in all_buckets(client, 10, limit)]
    assert ranges == [(hex(20), hex(25)), (hex(10), hex(19)), (hex(0), hex(9))]


def test_a_bucket_is_one_block_by_default(client: ApiClient) -> None:
    page = client(BLOCKS, None, 3)
    assert [bucket["toBlock"] for bucket in page["buckets"]] == ["0x3", "0x2", "0x1", "0x0"]
    assert page["next"] is None


def test_a_block_above_the_head_is_the_head(client: ApiClient) -> None:
    assert client(BLOCKS, 10, hex(2**64 - 1), 1) == client(BLOCKS, 10, None, 1)


def test_a_page_ends_with_its_time_and_the_next_goes_on_within_the_bucket(
    client: ApiClient,
) -> None:
    methods = EntresolBlockStatistics(client.chain.ledger, -1.0)
    page = methods.get_block_statistics(Number(10)).work()
    assert [(bucket.from_block, bucket.to_block) for bucket in page.buckets] == [(25, 25)]
    assert page.next == 24
    page = methods.get_block_statistics(Number(10), Number(24)).work()
    assert [(bucket.from_block, bucket.to_block) for bucket in page.buckets] == [(24, 24)]


def test_the_block_that_a_fork_stands_on_is_not_counted() -> None:
    with waiting(), remote() as there, closing(open_fork(there)) as chain:
        methods = EntresolBlockStatistics(chain.ledger)
        page = methods.get_block_statistics().work()
        assert (page.buckets, page.next) == ([], None)
        chain.builder.seal()
        (bucket,) = methods.get_block_statistics(Number(1_000)).work().buckets
        assert (bucket.from_block, bucket.to_block, bucket.gas_used) == (NUMBER + 1, NUMBER + 1, 0)


def test_blocks_that_are_reverted_meanwhile_are_left_out(client: ApiClient) -> None:
    snapshot = client("evm_snapshot")
    client("anvil_mine", hex(5))
    work = EntresolBlockStatistics(client.chain.ledger).get_block_statistics().work
    client("evm_revert", snapshot)
    assert work().buckets == []


@pytest.mark.parametrize(
    ("params", "field"),
    [((0,), "size"), ((10_001,), "size"), ((1, None, 0), "limit"), ((1, None, 101), "limit")],
)
def test_a_page_has_limits(client: ApiClient, params: tuple[Any, ...], field: str) -> None:
    with pytest.raises(RpcError, match=field) as caught:
        client(BLOCKS, *params)
    assert caught.value.code == -32602


class Batches(NamespaceClient):
    """Three batches, of one, two and three blocks; the first one is executed, the second one committed."""

    def __init__(self, chain: SettlingChain) -> None:
        super().__init__(EntresolBatchStatistics(chain.batches))
        batcher = Batcher(chain.blocks, chain.batches, SealingPolicy(max_age=10.0**9))
        for blocks in (1, 2, 3):
            for message in range(blocks):
                chain.seal_messages(message)
            completed(batcher.seal(0.0))
        for step in SettlementStep:
            done = SettlementTransaction(Hash32(bytes(32)), 7, 1_700_000_000, 100_000 + step)
            chain.batches.settle([1, 2] if step is SettlementStep.COMMIT else [1], step, done)


@pytest.fixture
def batches() -> Iterator[Batches]:
    chain = SettlingChain.begin()
    yield Batches(chain)
    chain.close()


def test_batches_have_their_blocks_and_what_their_steps_took(batches: Batches) -> None:
    page = batches(BATCHES)
    assert [
        (batch["number"], batch["blocks"], batch["transactions"]) for batch in page["batches"]
    ] == [("0x3", "0x3", "0x3"), ("0x2", "0x2", "0x2"), ("0x1", "0x1", "0x1")]
    assert [batch["commitGasUsed"] for batch in page["batches"]] == [
        None,
        hex(100_000),
        hex(100_000),
    ]
    assert [batch["executeGasUsed"] for batch in page["batches"]] == [None, None, hex(100_002)]
    assert page["next"] is None


def test_batches_come_by_pages(batches: Batches) -> None:
    first = batches(BATCHES, None, 2)
    assert ([batch["number"] for batch in first["batches"]], first["next"]) == (
        ["0x3", "0x2"],
        "0x1",
    )
    second = batches(BATCHES, first["next"], 2)
    assert ([batch["number"] for batch in second["batches"]], second["next"]) == (["0x1"], None)


@pytest.mark.parametrize("limit", [0, 101])
def test_a_page_of_batches_has_a_limit(batches: Batches, limit: int) -> None:
    with pytest.raises(RpcError, match="limit") as caught:
        batches(BATCHES, None, limit)
    assert caught.value.code == -32602


def test_an_l1_has_no_batches(client: ApiClient) -> None:
    assert client.error(BATCHES).code == -32601
