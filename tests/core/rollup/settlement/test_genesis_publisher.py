"""The genesis on L1: published once, by whoever may, again after a reorg, and never without end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from entresol._native import keccak256
from entresol.errors import GenesisNotPublished, LayerOneMismatch
from entresol.l1.availability.genesis_parts import GENESIS_DATA, MAX_LOGS
from entresol.l1.contracts import BatchTotals
from entresol.l1.layer_one import L1Log
from entresol.primitives import abi
from entresol.primitives.published.compression import compress
from entresol.primitives.values import Address, Hash32
from entresol.rollup.settlement import genesis_publisher
from entresol.rollup.settlement.genesis_publisher import GenesisPublisher
from tests.support.known import known
from tests.support.published.rejected import uncompressed

CHAIN = Address(b"\xcc" * 20)
ADMIN = Address(b"\xad" * 20)
SMALL = b"the genesis of a chain"
LARGE = random.Random(1).randbytes(250_000)
"""It takes three parts."""


class World:
    """An L1 that includes calls at once, the contract of a chain there, its settlers and its batches."""

    name = "L1"
    address = CHAIN
    first_block = 0

    def __init__(self, genesis: bytes = SMALL, last: int = 1) -> None:
        self.l1 = self
        self.height = 1
        self.included: list[L1Log] = []
        self.sent = 0
        self.committed = 0
        self.keys = {ADMIN}
        self.hides_logs = False
        self.ends_after = 10**9
        self.published = compress(genesis)
        self.hash = keccak256(genesis)
        self.last_batch = last
        self.reads = 0
        self.on_found: Callable[[], None] = lambda: None

    # Batches

    def data(self, _number: int) -> bytes:
        return self.published

    def get(self, _number: int) -> Any:
        return SimpleNamespace(data_commitment=self.hash)

    def last(self) -> Any:
        return SimpleNamespace(number=self.last_batch)

    # L1

    async def head(self) -> Any:
        return SimpleNamespace(number=self.height)

    async def block_number(self, _tag: str = "latest") -> int:
        return self.height

    async def logs(self, _address: Address, _topics: object, first: int, last: int) -> list[L1Log]:
        self.reads += 1
        known = [] if self.hides_logs else self.included
        found = [it for it in known if first <= it.block_number <= last]
        if found:
            self.on_found()
        return found

    async def receipt(self, transaction: Hash32) -> Any:
        is_there = any(it.transaction_hash == transaction for it in self.included)
        return SimpleNamespace(succeeded=True) if is_there else None

    async def wait_for_block(self, _seconds: float) -> None:
        await asyncio.sleep(0)

    # The contract

    async def totals(self) -> BatchTotals:
        return BatchTotals(self.committed, 0, 0)

    async def admin(self) -> Address:
        return ADMIN

    # The settler

    def wake(self) -> None:
        """Do nothing."""

    def has_key_of(self, account: Address) -> bool:
        return account in self.keys

    async def send_call(self, account: Address, to: Address, data: bytes) -> Hash32:
        """Include a part in a block of its own."""
        assert (account, to) == (ADMIN, CHAIN)
        if self.sent >= self.ends_after:
            raise asyncio.CancelledError
        await asyncio.sleep(0)
        self.sent += 1
        self.height += 1
        return self.include(*abi.decode("(uint256,uint256,bytes)", data[4:]))

    def include(self, part: int, parts: int, data: bytes) -> Hash32:
        """Add the log of a part to the last block."""
        transaction = Hash32(self.sent.to_bytes(32))
        self.included.append(
            L1Log(
                address=CHAIN,
                topics=(GENESIS_DATA, Hash32(part.to_bytes(32))),
                data=abi.encode("(uint256,bytes)", (parts, data)),
                block_number=self.height,
                block_hash=Hash32.zero(),
                transaction_hash=transaction,
                index=len(self.included),
            )
        )
        return transaction

    def publisher(self, **settings: Any) -> GenesisPublisher:
        world: Any = self
        return GenesisPublisher(world, world, lambda: [world], **settings)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(genesis_publisher, "INCLUSION_SECONDS", 0.0)


async def turn(publisher: GenesisPublisher) -> str | None:
    """Run one step of the loop, and return its problem."""
    await publisher._steps.step()
    return publisher.problem


@pytest.mark.parametrize(("genesis", "parts"), [(SMALL, 1), (LARGE, 3)])
async def test_a_genesis_is_published_once(genesis: bytes, parts: int) -> None:
    world = World(genesis)
    publisher = world.publisher()
    for _ in range(3):
        assert await turn(publisher) is None
    assert publisher.is_published
    assert world.sent == parts
    assert await turn(world.publisher()) is None
    assert world.sent == parts


async def test_nothing_is_published_before_there_is_a_batch_to_commit() -> None:
    world = World(last=0)
    assert await turn(world.publisher()) is None
    assert world.sent == 0


async def test_a_genesis_that_the_admin_compressed_otherwise_is_that_of_the_chain() -> None:
    world = World(b"genesis " * 10_000)
    other = uncompressed(b"genesis " * 10_000)
    assert other != compress(b"genesis " * 10_000)
    world.published = compress(b"genesis " * 10_000)
    world.keys = set()
    world.include(0, 1, other)
    publisher = world.publisher()
    assert await turn(publisher) is None
    assert publisher.is_published


@pytest.mark.parametrize("after", [1, 2])
async def test_a_restart_sends_only_the_parts_that_l1_lacks(after: int) -> None:
    world = World(LARGE)
    world.ends_after = after
    with pytest.raises(asyncio.CancelledError):
        await world.publisher().ensure()
    world.ends_after = 10**9
    publisher = world.publisher()
    await publisher.ensure()
    assert publisher.is_published
    assert world.sent == 3


@pytest.mark.parametrize("committed", [0, 1], ids=["before the commit", "after it"])
async def test_a_genesis_that_a_reorg_removes_is_published_again(committed: int) -> None:
    world = World()
    publisher = world.publisher(confirmations=3)
    assert await turn(publisher) is None
    world.included.clear()
    world.committed = committed
    assert await turn(publisher) is None
    assert world.sent == 2
    assert len(world.included) == 1


async def test_a_genesis_is_watched_until_its_block_is_confirmed() -> None:
    world = World()
    publisher = world.publisher(confirmations=3)
    assert await publisher._steps.step() == genesis_publisher.WATCH_SECONDS
    world.height += 3
    assert await publisher._steps.step() == float("inf")
    reads = world.reads
    assert await publisher._steps.step() == float("inf")
    assert world.reads == reads


async def test_an_l1_that_hides_the_logs_is_not_paid_again_and_again() -> None:
    world = World()
    world.hides_logs = True
    publisher = world.publisher()
    problems = {await turn(publisher) for _ in range(10)}
    assert world.sent == 1
    assert any("does not return its logs" in str(problem) for problem in problems)
    assert not publisher.is_published
    world.hides_logs = False
    assert await turn(publisher) is None
    assert (world.sent, publisher.is_published) == (1, True)


async def test_what_no_reader_would_find_is_not_paid_for() -> None:
    world = World()
    for number in range(MAX_LOGS):
        world.include(0, 1, number.to_bytes(4))
    with pytest.raises(GenesisNotPublished):
        await world.publisher().ensure()
    assert world.sent == 0


async def test_a_step_by_hand_while_the_genesis_is_published_does_not_publish_it_twice() -> None:
    world = World(LARGE)
    publisher = world.publisher()
    await asyncio.gather(publisher.ensure(), publisher._steps.step(), publisher.ensure())
    assert world.sent == 3


async def test_without_the_key_of_the_admin_the_problem_says_what_to_do() -> None:
    world = World()
    world.keys = set()
    publisher = world.publisher()
    problem = known(await turn(publisher))
    assert "publishGenesis" in problem
    with pytest.raises(LayerOneMismatch, match="no key of"):
        await publisher.ensure()
    world.include(0, 1, world.published)
    assert await turn(publisher) is None
    assert publisher.is_published


async def test_a_chain_with_batches_but_without_its_genesis_goes_on_and_says_so() -> None:
    world = World()
    world.keys, world.committed = set(), 1
    publisher = world.publisher()
    await publisher.ensure()
    assert publisher.is_published
    assert "publishGenesis" in str(await turn(publisher))


async def test_batches_do_not_make_a_publisher_that_fails_look_more_often() -> None:
    world = World()
    world.keys = set()
    publisher = world.publisher()
    await turn(publisher)
    publisher.wake()
    assert not publisher._steps._woken.is_set()


async def test_a_revert_while_l1_is_read_is_not_forgotten() -> None:
    world = World()
    publisher = world.publisher()

    def revert_once() -> None:
        world.on_found = lambda: None
        world.included.clear()
        publisher.reset()

    world.on_found = revert_once
    await publisher.ensure()
    assert len(world.included) == 1


async def test_a_chain_that_publishes_nothing_asks_l1_for_nothing() -> None:
    world = World()
    world.published = b""
    publisher = world.publisher()
    assert publisher.is_published
    assert await turn(publisher) is None
    assert (world.reads, world.sent) == (0, 0)
