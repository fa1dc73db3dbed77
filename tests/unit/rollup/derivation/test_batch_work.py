"""Work on what others have published ends soon after it is cancelled, whatever it does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from entresol._native import Snapshot, call
from entresol.errors import ExecutionCancelled
from entresol.rollup.derivation.batch_work import run_blocks
from tests.support.evm.in_memory_state import BLOCK, RULES, InMemoryState, to_contract

Before = Callable[[int], None]


def endless_transaction(before: Before) -> None:
    snapshot = Snapshot(InMemoryState.with_contract("5b 5f 56"))
    before(1)
    call(snapshot, RULES, BLOCK, to_contract(gas_limit=10**15))


def endless_blocks(before: Before) -> None:
    while True:
        before(1)


@pytest.mark.parametrize("work", [endless_transaction, endless_blocks])
def test_what_would_take_for_ever_is_cancelled(work: Callable[[Before], None]) -> None:
    ended: list[BaseException] = []

    def noting(before: Before) -> None:
        try:
            work(before)
        except BaseException as error:
            ended.append(error)
            raise

    async def scenario() -> None:
        loop, began = asyncio.get_running_loop(), asyncio.Event()

        def show(_block: int) -> None:
            loop.call_soon_threadsafe(began.set)

        task = asyncio.create_task(run_blocks(noting, show))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # It is not left behind on its thread.
        assert [type(it) for it in ended] == [ExecutionCancelled]

    asyncio.run(scenario())


def test_what_work_returns_and_raises_is_passed_on() -> None:
    def failing(_before: Before) -> None:
        raise ValueError("wrong")

    assert asyncio.run(run_blocks(lambda _before: 5, print)) == 5
    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(run_blocks(failing, print))
