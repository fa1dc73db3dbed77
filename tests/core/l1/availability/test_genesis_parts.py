"""A genesis on L1 in parts: published, interrupted, repeated, mixed with others, and read back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.errors import GenesisNotPublished, LayerOneFailed
from entresol.l1.availability.genesis_parts import (
    GENESIS_DATA,
    MAX_LOGS,
    GenesisParts,
    publication_steps,
    read_genesis,
)
from entresol.l1.layer_one import L1Log
from entresol.primitives import abi
from entresol.primitives.published.limits import MAX_GENESIS_BYTES, MAX_GENESIS_PART
from entresol.primitives.values import Address, Hash32
from tests.support.rollup.layer_ones import ACCOUNTS, SteeredLayerOne, layer_one
from tests.support.rollup.settlement_scenario import deploy, send
from tests.support.run.examples import examples

CHAIN = Address(b"\xcc" * 20)
PARTS = (b"one", b"two", b"three")
WHOLE = b"onetwothree"


def has_hash(expected: Hash32) -> Callable[[bytes], bool]:
    return lambda data: keccak256(data) == expected


def log(part: int, parts: int, data: bytes, topic: Hash32 = GENESIS_DATA) -> L1Log:
    return L1Log(
        address=CHAIN,
        topics=(topic, Hash32(part.to_bytes(32))),
        data=abi.encode("(uint256,bytes)", (parts, data)),
        block_number=1,
        block_hash=Hash32.zero(),
        transaction_hash=Hash32.zero(),
        index=0,
    )


def found_in(logs: Sequence[L1Log], expected: bytes = WHOLE) -> bytes | None:
    parts = GenesisParts(has_hash(Hash32(keccak256(expected))))
    found = [it for it in map(parts.add, logs) if it is not None]
    return found[0] if found else None


def published(*named: tuple[int, bytes]) -> list[L1Log]:
    return [log(part, len(PARTS), data) for part, data in named]


RIGHT = list(enumerate(PARTS))


@pytest.mark.parametrize(
    "logs",
    [
        published(*RIGHT),
        published(*reversed(RIGHT)),
        published(*RIGHT[:2], *RIGHT),
        published(*RIGHT[:2], RIGHT[1], RIGHT[1], RIGHT[2]),
        published((0, b"other"), (1, b"genesis"), *RIGHT),
        published((0, b"other"), (1, b"genesis"), (2, b"whole"), *RIGHT),
        published(RIGHT[0], (1, b"wrong"), RIGHT[2], RIGHT[1]),
        [log(0, 2, b"one"), *published(*RIGHT), log(1, 2, b"two")],
        [log(0, 1, WHOLE[:-1]), log(0, 1, WHOLE)],
        [log(0, 1, b""), *published(*RIGHT)],
    ],
    ids=[
        "in order", "reversed", "begun again", "repeated", "after another that was not complete",
        "after another", "one part mended", "among other numbers of parts", "one part", "after nothing",
    ],
)  # fmt: skip
def test_the_parts_that_make_the_genesis_are_found(logs: list[L1Log]) -> None:
    assert found_in(logs) == WHOLE


@pytest.mark.parametrize(
    "logs",
    [
        [],
        published(*RIGHT[:2]),
        published(RIGHT[0], RIGHT[2]),
        published(RIGHT[0], (1, b"three"), (2, b"two")),
        published(*RIGHT[:2], (2, b"wrong")),
        [log(0, 2, b"one"), log(1, 3, b"two"), log(2, 3, b"three")],
        [log(part, 3, data, Hash32.zero()) for part, data in RIGHT],
    ],
    ids=["none", "the last is missing", "one is missing", "in other places", "wrong", "mixed", "other events"],
)  # fmt: skip
def test_nothing_else_is_taken_for_the_genesis(logs: list[L1Log]) -> None:
    assert found_in(logs) is None


@pytest.mark.parametrize(
    "wrong",
    [
        log(0, 0, WHOLE),
        log(1, 1, WHOLE),
        log(2**256 - 1, 1, WHOLE),
        log(0, 17, WHOLE),
        log(0, 2**256 - 1, WHOLE),
        log(0, 1, bytes(MAX_GENESIS_PART + 1)),
        msgspec.structs.replace(log(0, 1, WHOLE), data=b"short"),
    ],
)
def test_what_no_contract_emits_counts_for_nothing(wrong: L1Log) -> None:
    assert found_in([wrong]) is None
    assert found_in([wrong, *published(*RIGHT), wrong]) == WHOLE


WORDS = st.sampled_from([0, 1, 2, 3, 16, 17, 32, 64, 96, 2**64 - 1, 2**255, 2**256 - 1])


@settings(max_examples=examples(300))
@given(
    st.lists(
        st.tuples(
            st.lists(st.one_of(WORDS, st.integers(0, 2**256 - 1)), max_size=3),
            st.binary(max_size=200)
            | st.lists(WORDS, max_size=6).map(lambda it: b"".join(w.to_bytes(32) for w in it)),
        ),
        max_size=10,
    )
)
def test_hostile_logs_neither_fail_nor_hide_the_genesis(
    hostile: list[tuple[list[int], bytes]],
) -> None:
    parts = GenesisParts(has_hash(Hash32(keccak256(WHOLE))))
    for topics, data in hostile:
        words = tuple(Hash32(topic.to_bytes(32)) for topic in topics)
        parts.add(msgspec.structs.replace(log(0, 1, b""), topics=(GENESIS_DATA, *words), data=data))
    assert parts.genesis is None
    for it in published(*RIGHT):
        parts.add(it)
    assert parts.genesis == WHOLE


def test_steps_leave_out_the_parts_that_l1_has() -> None:
    data = bytes(2 * MAX_GENESIS_PART) + b"end"
    parts = GenesisParts(lambda _: False)
    parts.add(log(1, 3, bytes(MAX_GENESIS_PART)))
    parts.add(log(0, 2, bytes(MAX_GENESIS_PART)))
    parts.add(log(2, 3, b"other"))
    left = publication_steps(CHAIN, data, parts)
    assert [it.description[:14] for it in left] == ["publish part 1", "publish part 3"]


def test_more_bytes_than_are_published_are_not_even_hashed() -> None:
    judged: list[int] = []

    def is_right(data: bytes) -> bool:
        judged.append(len(data))
        return False

    parts = GenesisParts(is_right)
    for part in range(16):
        parts.add(log(part, 16, bytes(MAX_GENESIS_PART)))
    assert judged == []


def test_a_part_that_is_repeated_is_judged_once() -> None:
    judged: list[bytes] = []

    def is_right(data: bytes) -> bool:
        judged.append(data)
        return False

    parts = GenesisParts(is_right)
    for _ in range(10):
        parts.add(log(0, 1, b"wrong"))
    assert judged == [b"wrong"]


@pytest.mark.parametrize(
    ("size", "count"), [(0, 1), (1, 1), (MAX_GENESIS_PART, 1), (MAX_GENESIS_PART + 1, 2), (MAX_GENESIS_BYTES, 11)]
)  # fmt: skip
def test_a_genesis_is_divided_into_few_parts(size: int, count: int) -> None:
    steps = publication_steps(CHAIN, bytes(size))
    assert len(steps) == count
    assert {step.to for step in steps} == {CHAIN}
    assert max(len(step.data) for step in steps) < MAX_GENESIS_PART + 200
    assert steps[-1].description == f"publish part {count} of {count} of the genesis"


def test_a_genesis_that_is_too_large_is_not_published() -> None:
    with pytest.raises(LayerOneFailed, match="1048577 bytes is not published on L1: it may have"):
        publication_steps(CHAIN, bytes(MAX_GENESIS_BYTES + 1))


async def test_a_genesis_is_published_and_read_back(steered: SteeredLayerOne) -> None:
    l1, data = steered.l1, bytes(range(256)) * 900
    expected = has_hash(Hash32(keccak256(data)))

    owner = ACCOUNTS[0]
    deployed = await deploy(l1, 270, Hash32(b"\7" * 32), owner.address)
    chain = deployed.addresses.chain
    steps = publication_steps(chain, data)
    for step in (steps[0], *steps):
        with pytest.raises(GenesisNotPublished, match="parts were published"):
            await read_genesis(l1, chain, 0, await l1.block_number(), expected)
        assert (await send(l1, owner, chain, step.data)).succeeded
    steered.mine(100)
    assert await read_genesis(l1, chain, 0, await l1.block_number(), expected) == data
    await l1.close()


class Endless:
    """An L1 with ever more parts."""

    name = "L1"
    requests = 0

    async def logs(self, _address: Address, _topics: object, first: int, _last: int) -> list[L1Log]:
        self.requests += 1
        return [log(0, 1, first.to_bytes(8)), log(0, 1, b"again" + first.to_bytes(8))]


def test_reading_ends_after_so_many_logs() -> None:
    endless = Endless()
    with pytest.raises(GenesisNotPublished) as raised:
        asyncio.run(read_genesis(endless, CHAIN, 0, 10**9, lambda _: False))  # type: ignore[arg-type]
    assert raised.value.parts == MAX_LOGS
    assert endless.requests == MAX_LOGS // 2


def test_a_chain_without_publications_says_so() -> None:
    with layer_one("embedded") as started:
        reading = read_genesis(started.l1, CHAIN, 0, 0, lambda _: True)
        with pytest.raises(GenesisNotPublished, match="0 parts were published"):
            asyncio.run(reading)
