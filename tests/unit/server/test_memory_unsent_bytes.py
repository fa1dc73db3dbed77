"""Unsent bytes of all connections have one limit; who does not read is dropped first."""

from __future__ import annotations

import asyncio

import pytest

from entresol.server.memory import CHECKS_PER_LIMIT, UnsentBytes

LIMIT = 6_400


class Connection:
    """A connection with so many unsent bytes."""

    def __init__(self, unsent: int) -> None:
        self.unsent = unsent
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True
        self.unsent = 0


def test_nobody_is_dropped_within_the_limit() -> None:
    connections = [Connection(LIMIT // 2), Connection(LIMIT // 2)]
    unsent = UnsentBytes(LIMIT, connections)
    unsent.sweep(LIMIT)
    assert (unsent.total, unsent.dropped) == (LIMIT, 0)
    assert not any(connection.dropped for connection in connections)


def test_the_greediest_are_dropped_until_the_rest_is_within_the_limit() -> None:
    connections = [Connection(size) for size in (1_000, 4_000, 2_000, 3_000)]
    unsent = UnsentBytes(LIMIT, connections)
    unsent.sweep(10_000)
    assert [connection.dropped for connection in connections] == [False, True, False, False]
    assert (unsent.total, unsent.dropped) == (6_000, 1)


def test_a_client_that_does_not_read_is_dropped_before_a_greedier_one_that_reads() -> None:
    reading, stalled, idle = Connection(5_000), Connection(1_000), Connection(0)
    unsent = UnsentBytes(LIMIT, [reading, stalled, idle])
    unsent.sweep(6_000)
    reading.unsent, stalled.unsent, idle.unsent = 4_500, 1_200, 1_000
    unsent.sweep(7_000)
    assert [reading.dropped, stalled.dropped, idle.dropped] == [False, True, False]


@pytest.mark.parametrize("unsent_bytes", [0, LIMIT // 2, LIMIT])
def test_a_check_is_due_before_the_limit_can_be_exceeded_by_much(unsent_bytes: int) -> None:
    unsent = UnsentBytes(LIMIT, [Connection(unsent_bytes)])
    unsent.sweep(10_000)
    room = unsent.check_at - 10_000
    assert room >= LIMIT // CHECKS_PER_LIMIT
    assert unsent_bytes + room <= LIMIT + LIMIT // CHECKS_PER_LIMIT


def test_a_check_runs_in_the_next_turn_and_once() -> None:
    connection = Connection(2 * LIMIT)

    async def check() -> UnsentBytes:
        unsent = UnsentBytes(LIMIT, [connection])
        unsent.schedule_check(2 * LIMIT)
        assert not connection.dropped
        assert unsent.check_at == float("inf")
        await asyncio.sleep(0)
        return unsent

    unsent = asyncio.run(check())
    assert connection.dropped
    assert (unsent.total, unsent.dropped, unsent.check_at) == (0, 1, 3 * LIMIT)
