from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import msgspec
import pytest

from entresol.offload import POLICY
from entresol.rpc.jsonrpc import request_batch as module
from entresol.rpc.jsonrpc.request_batch import BatchTurns, DeferredResponse, RequestBatch, Response

BATCHES = 5


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slice of time be long, however slow the machine is."""
    monkeypatch.setattr(module, "POLICY", msgspec.structs.replace(POLICY, batch_seconds=60.0))


class Calls:
    """Responds to sends once they are released together, and to others at once with what was sent by then."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.sent = 0

    def respond(self, item: str) -> Response:
        self.started.append(item)
        return self._send() if item == "send" else b"%d" % self.sent

    async def _send(self) -> bytes:
        await asyncio.sleep(0)
        self.sent += 1
        return b"sent"


async def responses(calls: Calls, *items: str) -> bytes | None:
    batch = RequestBatch(
        list(items), calls.respond, 1 << 20, "send".__eq__, lambda item: item == "last"
    )
    if not batch.advance():
        await batch.finish()
    return batch.joined()


def test_a_call_starts_after_the_group_before_it() -> None:
    calls = Calls()
    items = ("read", "send", "send", "read", "read", "send", "read")
    assert asyncio.run(responses(calls, *items)) == b"[0,sent,sent,2,2,sent,3]"
    assert calls.started == list(items)


def test_a_last_call_starts_after_all_others_and_its_response_stands_where_it_stood() -> None:
    calls = Calls()
    items = ("last", "send", "read", "last", "send")
    assert asyncio.run(responses(calls, *items)) == b"[2,sent,1,2,sent]"
    assert calls.started == ["send", "read", "send", "last", "last"]


async def test_a_last_call_starts_after_calls_that_run_concurrently() -> None:
    calls = Calls()
    # No group: as `eth_sendTransaction`, which is awaited beside others.
    batch = RequestBatch(["last", "send", "send"], calls.respond, 1 << 20, is_last="last".__eq__)
    assert not batch.advance()
    await batch.finish()
    assert batch.joined() == b"[2,sent,sent]"


def test_no_last_call_starts_once_the_responses_are_too_long() -> None:
    calls = Calls()
    batch = RequestBatch(["last", "read"], calls.respond, 0, is_last="last".__eq__)
    batch.advance()
    assert batch.too_large
    assert calls.started == ["read"]


def text(future: asyncio.Future[Any]) -> bytes:
    return b"failed" if future.exception() else bytes(future.result())


async def test_deferred_responses_of_a_batch_are_awaited_in_order() -> None:
    loop = asyncio.get_running_loop()
    futures = [loop.create_future() for _ in range(3)]
    deferred = iter([DeferredResponse(future, partial(text, future)) for future in futures])
    batch = RequestBatch(
        ["send", "send", "send", "read"],
        lambda item: next(deferred) if item == "send" else b"read",
        1 << 20,
        "send".__eq__,
    )
    assert not batch.advance()
    loop.call_soon(futures[2].set_result, b"third")
    loop.call_soon(futures[1].set_exception, ValueError())
    loop.call_soon(futures[0].set_result, b"first")
    await batch.finish()
    assert batch.joined() == b"[first,failed,third,read]"


async def test_what_a_batch_waits_for_is_cancelled_with_it() -> None:
    futures = [asyncio.get_running_loop().create_future() for _ in range(2)]
    deferred = iter([DeferredResponse(future, partial(text, future)) for future in futures])
    batch = RequestBatch(["send", "send"], lambda _: next(deferred), 1 << 20, "send".__eq__)
    assert not batch.advance()
    task = asyncio.ensure_future(batch.finish())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [future.cancelled() for future in futures] == [True, True]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_deferred_response_is_given_now_if_it_is_there(is_there: bool) -> None:
    async def live() -> bytes | None:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        deferred = DeferredResponse(future, partial(text, future))
        if is_there:
            future.set_result(b"sent")
            response = deferred.now(lambda: None)
            assert isinstance(response, bytes)
            return response
        future.get_loop().call_soon(future.set_result, b"sent")
        assert deferred.now(lambda: None) is deferred
        return await deferred

    assert asyncio.run(live()) == b"sent"


async def test_batches_that_go_on_have_one_slice_together_in_a_turn_of_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "POLICY", msgspec.structs.replace(POLICY, batch_seconds=-1.0))
    served: list[int] = []

    def respond(item: int) -> bytes:
        served.append(item)
        return b"1"

    turns, most = BatchTurns(), 0
    batches = [RequestBatch([n] * 3, respond, 1 << 20, turns=turns) for n in range(BATCHES)]
    tasks = [asyncio.create_task(batch.finish()) for batch in batches]
    while not all(task.done() for task in tasks):
        before = len(served)
        await asyncio.sleep(0)
        most = max(most, len(served) - before)
    assert most == 1
    # One after another, so that none waits for all of another one.
    assert served == [*range(BATCHES)] * 3


async def test_a_batch_whose_client_is_gone_keeps_no_other_from_its_turn() -> None:
    turns = BatchTurns()
    gone, waiting = asyncio.create_task(turns.next()), asyncio.create_task(turns.next())
    await asyncio.sleep(0)
    gone.cancel()
    await waiting
    assert gone.cancelled()
