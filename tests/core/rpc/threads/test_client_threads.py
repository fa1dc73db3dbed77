"""Threads for the long calls of clients, and requests that wait for the remote of a fork."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from contextvars import Context
from threading import Event

import msgspec
import pytest

from entresol import errors
from entresol._native import Snapshot, call
from entresol.chain.chain_use import ChainUse
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.threads.client_threads import (
    MAX_CLIENTS_QUEUED,
    MAX_QUEUED_CALLS,
    ClientLine,
    ClientThreads,
    ClientTurns,
    current_client,
    serve,
)
from entresol.server.handler import LocalConnection, completed
from tests.support.chain import dev_chain
from tests.support.evm.in_memory_state import BLOCK, RULES, InMemoryState, to_contract
from tests.support.fork.running_fork import RunningApi, open_fork, remote_of, running_api
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import LeavingClient


class Gate:
    """Work that runs until it is let go."""

    def __init__(self) -> None:
        self.started = Event()
        self.opened = Event()

    def __call__(self) -> str:
        """Wait."""
        self.started.set()
        assert self.opened.wait(PATIENCE_SECONDS)
        return "done"


@pytest.fixture
def threads() -> Iterator[ClientThreads]:
    threads = ClientThreads(2, max_queued=3)
    yield threads
    threads.close(wait=True)


def start(
    threads: ClientThreads,
    client: LeavingClient,
    work: Callable[[], str],
    *,
    ends_with_client: bool = True,
) -> asyncio.Task[str]:
    """Start work for a client, as its request would."""
    serve(client)
    return asyncio.get_running_loop().create_task(
        threads.run(work, ends_with_client=ends_with_client)
    )


async def waits(*tasks: asyncio.Task[str]) -> bool:
    """Let tasks go as far as they can, and return whether none has ended."""
    for _ in range(10):
        await asyncio.sleep(0)
    return not any(task.done() for task in tasks)


async def test_another_client_does_not_wait_for_one_with_many_long_calls(
    threads: ClientThreads,
) -> None:
    greedy, other, gate = LeavingClient(), LeavingClient(), Gate()
    tasks = [start(threads, greedy, gate) for _ in range(4)]
    await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
    assert await start(threads, other, lambda: "served") == "served"
    assert await waits(*tasks)
    gate.opened.set()
    assert await asyncio.gather(*tasks) == ["done"] * 4


async def test_a_client_may_not_have_more_waiting_than_allowed(threads: ClientThreads) -> None:
    greedy, other, gate = LeavingClient(), LeavingClient(), Gate()
    tasks = [start(threads, greedy, gate) for _ in range(1)]
    await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
    tasks += [start(threads, greedy, gate) for _ in range(3)]
    assert await waits(*tasks)
    with pytest.raises(errors.TooManyLongCalls, match="max 3"):
        await start(threads, greedy, gate)
    assert await start(threads, other, lambda: "served") == "served"
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_all_clients_together_may_not_have_more_waiting_than_allowed(
    threads: ClientThreads,
) -> None:
    gate, other = Gate(), LeavingClient()
    many = [LeavingClient() for _ in range(MAX_CLIENTS_QUEUED + 2)]
    tasks = [start(threads, many[0], gate), start(threads, many[1], gate)]
    assert await waits(*tasks)
    tasks += [start(threads, client, gate) for client in many for _ in range(3)]
    assert not await waits(*tasks)
    full = 3 * MAX_CLIENTS_QUEUED
    assert threads.queued == full
    # Who comes late, and has less, is served before them.
    tasks.append(start(threads, other, lambda: "served"))
    await waits(*tasks)
    assert threads.queued == full
    rejected = [task for task in tasks if task.done()]
    assert len(rejected) == 7
    for task in rejected:
        with pytest.raises(errors.TooManyLongCalls, match=r"all clients together \(max 60\)"):
            await task
    gate.opened.set()
    results = await asyncio.gather(*(task for task in tasks if task not in rejected))
    assert results[-1] == "served"
    assert threads.queued == 0


async def test_what_a_client_has_waiting_is_dropped_when_it_disconnects(
    threads: ClientThreads,
) -> None:
    client, gate = LeavingClient(), Gate()
    running = start(threads, client, gate)
    await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
    queued = [start(threads, client, gate) for _ in range(3)]
    assert await waits(*queued)
    assert threads.queued == 3
    client.disconnect_now()
    assert threads.queued == 0
    for task in queued:
        with pytest.raises(errors.ExecutionStopped, match="the client is gone"):
            await task
    gate.opened.set()
    assert await running == "done"
    assert threads.started == 1


async def stops_with_its_client(
    threads: ClientThreads, endless: Callable[[], str], started: Event
) -> None:
    """Start endless work of a client, and check that it stops once the client disconnects."""
    client = LeavingClient()
    task = start(threads, client, endless)
    await asyncio.to_thread(started.wait, PATIENCE_SECONDS)
    client.disconnect_now()
    with pytest.raises(errors.ExecutionStopped, match=r"the client is gone|cancelled"):
        await task


def test_an_execution_stops_when_its_client_disconnects(threads: ClientThreads) -> None:
    snapshot = Snapshot(InMemoryState.with_contract("5b 5f 56"))
    started = Event()

    def endless() -> str:
        started.set()
        call(snapshot, RULES, BLOCK, to_contract(gas_limit=10**15))
        return "never"

    asyncio.run(stops_with_its_client(threads, endless, started))


def test_what_runs_cooperatively_stops_when_its_client_disconnects(threads: ClientThreads) -> None:
    started = Event()

    def forever() -> Iterator[int]:
        while True:
            started.set()
            yield 1

    def endless() -> str:
        return str(sum(cooperatively(forever())))

    asyncio.run(stops_with_its_client(threads, endless, started))


def test_work_that_comes_after_the_end_is_told_that_the_chain_is_another(
    threads: ClientThreads,
) -> None:
    threads.close()
    with pytest.raises(errors.ChainReplaced, match="send the request again"):
        asyncio.run(threads.run(lambda: "never"))


async def test_work_that_was_queued_at_the_end_is_told_that_the_chain_is_another(
    threads: ClientThreads,
) -> None:
    client, gate = LeavingClient(), Gate()
    tasks = [start(threads, client, gate) for _ in range(4)]
    await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
    threads.close()
    gate.opened.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert any(isinstance(outcome, errors.ChainReplaced) for outcome in outcomes)
    assert not any(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)


async def test_work_that_changes_something_later_outlives_its_client(
    threads: ClientThreads,
) -> None:
    client, gate = LeavingClient(), Gate()
    tasks = [start(threads, client, gate, ends_with_client=False) for _ in range(3)]
    await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
    client.disconnect_now()
    assert await waits(*tasks)
    gate.opened.set()
    assert await asyncio.gather(*tasks) == ["done"] * 3


async def test_a_cancelled_task_cancels_its_work(threads: ClientThreads) -> None:
    client, gate = LeavingClient(), Gate()
    running = start(threads, client, gate)
    await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
    queued = start(threads, client, lambda: "never")
    assert await waits(queued)
    queued.cancel()
    assert await waits(running)
    assert queued.cancelled()
    assert threads.queued == 0
    gate.opened.set()
    await running


def test_work_that_outlives_the_chain_fails() -> None:
    use = ChainUse()

    async def scenario(threads: ClientThreads) -> None:
        client, gate = LeavingClient(), Gate()
        task = start(threads, client, gate)
        await asyncio.to_thread(gate.started.wait, PATIENCE_SECONDS)
        assert not use.is_idle
        use.on_removed()
        gate.opened.set()
        with pytest.raises(errors.ChainReplaced):
            await task
        assert use.is_idle

    with closing(ClientThreads(2, use=use)) as threads:
        asyncio.run(scenario(threads))


async def test_the_client_of_a_request_is_known_to_what_it_starts() -> None:
    async def asked() -> object:
        await asyncio.sleep(0)
        return current_client()

    first, second = LeavingClient(), LeavingClient()
    serve(first)
    task = asyncio.get_running_loop().create_task(asked())
    serve(second)
    assert await task is first
    assert current_client() is second
    assert Context().run(current_client) is None


def test_a_request_does_not_keep_its_connection() -> None:
    client = LeavingClient()

    async def scenario() -> object:
        nonlocal client
        serve(client)
        del client
        return current_client()

    assert asyncio.run(scenario()) is None


def test_work_that_waits_for_a_remote_leaves_the_threads_of_others_free() -> None:
    """Ten calls wait for a fork's remote, and one that does not has its response."""
    alice = dev_chain.ALICE
    with remote_of(dev_chain.GENESIS) as remote:
        chain = open_fork(remote, dev_chain.RULES)
        threads = ClientThreads(2, use=chain.use)

        async def serve_both() -> tuple[int, list[int]]:
            with remote.held():
                waiting = [
                    asyncio.ensure_future(threads.run(lambda: dev_chain.balance(chain, alice)))
                    for _ in range(10)
                ]
                await asyncio.to_thread(eventually, lambda: remote.table.waiting == 10)
                other = await threads.run(lambda: 7)
            return other, await asyncio.gather(*waiting)

        assert asyncio.run(serve_both()) == (7, [100 * 10**18] * 10)
        assert remote.asked["account", bytes(alice)] == 1
        threads.close(wait=True)
        chain.close()


def test_a_client_that_sends_without_end_is_rejected_while_the_remote_is_silent() -> None:
    """Another client is not, and those that were not rejected have their responses in the end."""
    with (
        remote_of(dev_chain.GENESIS) as remote,
        running_api(open_fork(remote, dev_chain.RULES)) as client,
    ):

        async def flood() -> tuple[list[bytes], bytes]:
            connection = LocalConnection()
            with remote.held():
                sent = [asyncio.ensure_future(ask(client, connection, n)) for n in range(510)]
                rejected, _ = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
                other = asyncio.ensure_future(ask(client, LocalConnection(), 0))
                await asyncio.sleep(0)
                assert rejected
                assert not other.done()
            return await asyncio.gather(*sent), await other

        responses, other = client.run(flood())
        codes = [
            msgspec.json.decode(response).get("error", {}).get("code") for response in responses
        ]
        assert codes == [None] * MAX_QUEUED_CALLS + [-32005] * 10
        assert msgspec.json.decode(other)["result"] == "0x0"


async def ask(client: RunningApi, connection: LocalConnection, number: int) -> bytes:
    """Ask for the balance of one of many accounts."""
    address = f"0x{number + 1_000:040x}"
    request = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [address, "latest"]}
    response = client.api.dispatcher.handle(msgspec.json.encode(request), connection)
    handled = await completed(response)
    assert isinstance(handled, bytes)
    return handled


def drain(turns: ClientTurns[str], seconds: float = 5.0) -> list[str]:
    """Take everything, one at a time, and return it in order."""
    taken = []
    while (following := turns.take()) is not None:
        line, item = following
        taken.append(item)
        turns.end(line, seconds)
    return taken


def test_clients_take_turns() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    first, second = ClientLine[str](), ClientLine[str]()
    for number in range(3):
        turns.add(first, f"first {number}")
    for number in range(3):
        turns.add(second, f"second {number}")
    assert drain(turns) == ["first 0", "second 0", "first 1", "second 1", "first 2", "second 2"]


def test_a_client_with_short_calls_comes_before_one_with_long_calls() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    long, short = ClientLine[str](), ClientLine[str]()
    for line, name, seconds in ((long, "long", 5.0), (short, "short", 0.001)):
        turns.add(line, name)
        assert turns.take() == (line, name)
        turns.end(line, seconds)
    turns.add(long, "long")
    turns.add(short, "short")
    assert drain(turns) == ["short", "long"]


def test_time_without_work_is_not_saved_up() -> None:
    turns: ClientTurns[str] = ClientTurns(3)
    busy, idle = ClientLine[str](), ClientLine[str]()
    for _ in range(100):
        turns.add(busy, "busy")
    for _ in range(50):
        line, _ = turns.take() or (busy, "")
        turns.end(line, 1.0)
    for _ in range(10):
        turns.add(idle, "idle")
    assert drain(turns, 1.0)[:4].count("idle") == 2
