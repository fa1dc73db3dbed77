"""The data of batches, read from the logs of commits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.errors import LayerOneMismatch
from entresol.l1.availability.batch_data import (
    BATCH_DATA,
    FIRST_WINDOW,
    MANY_BYTES,
    MAX_WINDOW,
    EventPosition,
    decode_batch_data,
    logs_in_windows,
)
from entresol.l1.layer_one import L1Log
from entresol.primitives import abi
from entresol.primitives.published.limits import MAX_PUBLISHED_BYTES
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.batches import Batch
from tests.support.rollup.layer_ones import ACCOUNTS, SteeredLayerOne
from tests.support.rollup.settlement_scenario import deploy_one, send
from tests.support.run.examples import examples

CONTRACT = Address(b"\xcc" * 20)


class Recorded:
    """An L1 that has a log of some size in each block, and remembers which ranges it was asked for."""

    def __init__(self, size_at: Callable[[int], int]) -> None:
        self.ranges: list[tuple[int, int]] = []
        self._size_at = size_at

    async def logs(self, address: Address, topics: object, first: int, last: int) -> list[L1Log]:
        assert (address, topics) == (CONTRACT, [Hash32.zero()])
        self.ranges.append((first, last))
        return [
            L1Log(
                address=address,
                topics=(),
                data=bytes(self._size_at(number)),
                block_number=number,
                block_hash=Hash32.zero(),
                transaction_hash=Hash32.zero(),
                index=0,
            )
            for number in range(first, last + 1)
            if self._size_at(number)
        ]


def read(l1: Recorded, first: int, last: int) -> list[int]:
    async def play() -> list[int]:
        found = logs_in_windows(l1, CONTRACT, [Hash32.zero()], first, last)  # type: ignore[arg-type]
        return [log.block_number async for log in found]

    return asyncio.run(play())


def test_a_range_of_one_block_is_read() -> None:
    assert read(Recorded(lambda _number: 1), 7, 7) == [7]


def test_every_block_is_asked_for_once_and_logs_are_in_order() -> None:
    l1 = Recorded(lambda number: number % 3 == 0)
    assert read(l1, 5, 5_000) == [number for number in range(5, 5_001) if number % 3 == 0]
    assert l1.ranges[0] == (5, 5 + FIRST_WINDOW - 1)
    assert all(
        right[0] == left[1] + 1 for left, right in zip(l1.ranges, l1.ranges[1:], strict=False)
    )
    assert l1.ranges[-1][1] == 5_000


def test_windows_grow_where_logs_are_few() -> None:
    l1 = Recorded(lambda _: 0)
    assert read(l1, 0, 100_000) == []
    assert max(last - first + 1 for first, last in l1.ranges) == MAX_WINDOW
    assert len(l1.ranges) < 110


def test_windows_shrink_where_logs_are_large() -> None:
    l1 = Recorded(lambda number: MANY_BYTES // 2 if number < 150 else 0)
    assert read(l1, 0, 200) == list(range(150))
    assert min(last - first + 1 for first, last in l1.ranges) <= 2


def test_an_empty_range_asks_for_nothing() -> None:
    l1 = Recorded(lambda _: 1)
    assert read(l1, 5, 4) == []
    assert l1.ranges == []


LOG = L1Log(
    address=Address(b"\xcc" * 20),
    topics=(BATCH_DATA, Hash32((9).to_bytes(32))),
    data=abi.encode("(bytes)", (b"published",)),
    block_number=7,
    block_hash=Hash32(b"\x07" * 32),
    transaction_hash=Hash32(b"\x08" * 32),
    index=3,
)


def changed(**fields: object) -> L1Log:
    return msgspec.structs.replace(LOG, **fields)


def test_a_log_has_number_data_and_position() -> None:
    found = decode_batch_data(LOG)
    assert (found.number, found.data) == (9, b"published")
    assert found.position == EventPosition(7, Hash32(b"\x07" * 32), 3)
    assert found.transaction == Hash32(b"\x08" * 32)


def test_as_much_data_as_a_commit_may_have_is_read() -> None:
    found = decode_batch_data(changed(data=abi.encode("(bytes)", (bytes(MAX_PUBLISHED_BYTES),))))
    assert found.data == bytes(MAX_PUBLISHED_BYTES)


@pytest.mark.parametrize(
    "log",
    [
        changed(topics=(Hash32.zero(), Hash32.zero())),
        changed(topics=()),
        changed(data=LOG.data[:70]),
        changed(data=abi.encode("(bytes)", (bytes(MAX_PUBLISHED_BYTES + 1),))),
    ],
    ids=["other", "no topic", "short", "too much"],
)
def test_a_log_that_no_contract_emits_is_rejected_by_name(log: L1Log) -> None:
    with pytest.raises(
        LayerOneMismatch, match=r"^log 3 of L1 block 7 is not data of a batch: [^ ].*"
    ):
        decode_batch_data(log)


WORDS = st.sampled_from([0, 1, 31, 32, 33, 64, 96, 2**31, 2**64 - 1, 2**255, 2**256 - 1])
HOSTILE = st.binary(max_size=200) | st.lists(WORDS, max_size=6).map(
    lambda words: b"".join(word.to_bytes(32) for word in words)
)


@settings(max_examples=examples(300))
@given(HOSTILE, st.lists(st.binary(min_size=32, max_size=32).map(Hash32), max_size=3))
def test_any_log_is_data_of_a_batch_or_rejected_by_name(data: bytes, topics: list[Hash32]) -> None:
    log = changed(data=data, topics=(BATCH_DATA, *topics))
    try:
        found = decode_batch_data(log)
    except LayerOneMismatch:
        return
    assert found.data in data


async def test_the_data_of_all_commits_is_read_in_order(steered: SteeredLayerOne) -> None:
    l1, owner = steered.l1, ACCOUNTS[0]

    genesis = Batch(number=0)
    chain, timelock = await deploy_one(l1, 270, genesis, data_scheme=3)
    now = (await l1.head()).timestamp
    sent = {}
    before = genesis
    for number, size in ((1, 0), (2, MAX_PUBLISHED_BYTES), (3, 1)):
        batch = Batch(
            number=number, pubdata=bytes([number]) * size, first_timestamp=now, last_timestamp=now
        )
        call = abi.encode_call(
            "commitBatchesSharedBridge(address,uint256,uint256,bytes)",
            *(chain, number, number, batch.commit_data(before)),
        )
        receipt = await send(l1, owner, timelock, call)
        assert receipt.succeeded
        sent[number] = batch.pubdata, receipt.block_number, receipt.block_hash
        steered.mine(70)
        before = batch
    logs = logs_in_windows(l1, chain, [BATCH_DATA], 0, await l1.block_number())
    found = [decode_batch_data(log) async for log in logs]
    assert {it.number: (it.data, it.position.block, it.position.block_hash) for it in found} == sent
    assert [it.number for it in found] == [1, 2, 3]
    await l1.close()
