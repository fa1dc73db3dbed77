"""The clock of a node is compared with L1's: by blocks that were just sealed, and by those from the future."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from entresol.chain.clock import Clock
from entresol.errors import LayerOneUnreachable
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.layer_one import L1Block
from entresol.primitives.values import Hash32
from entresol.rollup.l1_clock import POLL_SECONDS, L1Clock
from tests.support.known import known
from tests.support.played import played
from tests.support.rollup.layer_ones import Embedded, layer_one

NOW = 1_800_000_000
HOUR = 3_600


class Timed(EmbeddedLayerOne):
    """An L1 whose head a test sets."""

    number = 7
    timestamp = NOW - 5 * HOUR

    was_read: asyncio.Event | None = None
    """Set when it is read; it is away then."""

    async def head(self) -> L1Block:
        if self.was_read is not None:
            self.was_read.set()
            raise LayerOneUnreachable(self.name, "it is away")
        zero = Hash32.zero()
        return L1Block(
            number=self.number, hash=zero, parent_hash=zero, timestamp=self.timestamp, base_fee=7
        )


class Compared:
    """A clock, an L1, and the time between two comparisons."""

    def __init__(self, l1: Timed) -> None:
        self.l1 = l1
        self.now = NOW
        self.passed = 0.0
        self.chain_clock = Clock(lambda: self.now + self.passed)
        self.clock = L1Clock(l1, self.chain_clock, lambda: self.passed)

    async def sees(self, number: int, timestamp: int, *, after: float = POLL_SECONDS) -> str | None:
        """Compare with a head after so many seconds; return the problem."""
        self.passed += after
        self.l1.number, self.l1.timestamp = number, timestamp
        await self.clock.step()
        return self.clock.problem


def comparing(play: Callable[[Compared], Awaitable[None]]) -> None:
    async def whole(l1: Timed) -> None:
        await play(Compared(l1))

    with layer_one("embedded") as steered:
        assert isinstance(steered, Embedded)
        asyncio.run(whole(Timed(steered.chain, steered.sequencer)))


@played(comparing)
async def test_an_l1_that_seals_no_blocks_says_nothing_of_the_clock(compared: Compared) -> None:
    for _ in range(3):
        assert await compared.sees(7, NOW - 5 * HOUR) is None
    assert compared.clock.skew_seconds is None


@played(comparing)
async def test_a_clock_an_hour_ahead_is_seen_by_the_next_block(
    compared: Compared, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "entresol.rollup")

    await compared.sees(7, NOW - HOUR - 12)
    problem = known(await compared.sees(8, NOW - HOUR))
    assert (
        "the clock of this node is 3604 s ahead of the embedded L1, and it is not known which"
        in problem
    )
    assert compared.clock.skew_seconds == 3604
    await compared.sees(9, NOW - HOUR)
    compared.now -= HOUR
    assert await compared.sees(10, compared.now - 1) is None
    ahead, again = caplog.messages
    assert "3604 s ahead of" in ahead
    assert "agrees with the embedded L1 again" in again


@played(comparing)
async def test_a_clock_an_hour_behind_is_seen_at_once(compared: Compared) -> None:
    problem = known(await compared.sees(7, NOW + HOUR))
    assert "is 3598 s behind the embedded L1, and it is not known which" in problem
    assert await compared.sees(8, NOW - 2) is None


@pytest.mark.parametrize(
    ("moved", "seen", "problem"),
    [
        ("l1", NOW + 6 + HOUR, "the clock of the embedded L1 is 3600 s ahead of that of this node, which"),
        ("node", NOW + 6, "the clock of this node is 3600 s behind the embedded L1, since it was set by -3600 s"),
        ("chain", NOW + 6, "the clock of this chain is 3600 s ahead of the embedded L1: it was moved by 3600 s"),
    ],
)  # fmt: skip
@played(comparing)
async def test_the_clock_that_was_moved_is_what_is_wrong(
    compared: Compared, moved: str, seen: int, problem: str
) -> None:
    await compared.sees(7, NOW)
    await compared.sees(8, NOW + 4)
    if moved == "node":
        compared.now -= HOUR
    elif moved == "chain":
        compared.chain_clock.increase(HOUR)
    assert problem in (await compared.sees(9, seen) or "")


@played(comparing)
async def test_a_block_that_may_be_old_is_not_compared(compared: Compared) -> None:
    await compared.sees(7, NOW)
    # L1 was away, or this node was.
    assert await compared.sees(8, NOW - HOUR, after=10 * POLL_SECONDS) is None
    # A reorg.
    assert await compared.sees(6, NOW - HOUR) is None


@pytest.mark.parametrize("wrong", [(8, 0), (7, NOW + HOUR)])
@played(comparing)
async def test_one_wrong_block_is_forgotten_with_the_next_response(
    compared: Compared, wrong: tuple[int, int]
) -> None:
    await compared.sees(7, NOW - HOUR)
    assert await compared.sees(*wrong) is not None
    assert await compared.sees(*wrong) is not None
    assert await compared.sees(7, NOW - HOUR) is None


@played(comparing)
async def test_an_l1_that_is_away_is_reported_by_others(
    compared: Compared, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    compared.l1.was_read = asyncio.Event()
    following = asyncio.create_task(compared.clock.run())
    await compared.l1.was_read.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert compared.clock.problem is None
    assert caplog.messages == []
