"""What runs on the event loop, and what is offloaded to a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterator
from typing import Any

import pytest

from entresol.execution.block_executor import BlockExecutor
from entresol.offload import POLICY, started
from entresol.server.handler import LocalConnection
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import ALICE, LOGGER, transaction

TARGET = "0x" + "c1" * 20
WIDE = {"fromBlock": "0x0", "toBlock": "latest"}


@pytest.fixture
def client() -> Iterator[ApiClient]:
    """Return a client of the whole API of the development chain."""
    with running_api() as client:
        yield client


def emit(client: ApiClient, blocks: int, each: int = 1) -> None:
    """Seal blocks with so many logs each."""
    for nonce in range(blocks * each):
        client.chain.add(transaction(nonce, to=LOGGER, wei=0, data=bytes([nonce % 256])))
        if nonce % each == each - 1:
            client.chain.builder.seal()


def ask(client: ApiClient, method: str, *params: object) -> tuple[bool, Any]:
    """Return whether the response came at once, and its result."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    async def settle() -> tuple[bool, Any]:
        response = client.api.dispatcher.handle(body.encode(), LocalConnection())
        at_once = isinstance(response, bytes)
        settled = response if isinstance(response, bytes) else await response  # type: ignore[misc]
        return at_once, json.loads(settled or b"")["result"]

    return asyncio.run(settle())


@pytest.mark.parametrize(("blocks", "quick"), [(2, True), (20, False)])
def test_a_wide_range_of_logs_leaves_the_loop(client: ApiClient, blocks: int, quick: bool) -> None:
    emit(client, blocks)
    at_once, logs = ask(client, "eth_getLogs", WIDE)
    assert at_once is quick
    assert [log["data"] for log in logs] == [f"0x{number:02x}" for number in range(blocks)]


@pytest.mark.parametrize("method", ["eth_getBlockReceipts", "eth_getBlockByNumber"])
def test_a_long_block_is_offloaded_until_it_is_cached(client: ApiClient, method: str) -> None:
    emit(client, 1, each=100)
    params: list[Any] = ["0x1"] if method == "eth_getBlockReceipts" else ["0x1", True]
    at_once, response = ask(client, method, *params)
    assert not at_once
    assert len(response if isinstance(response, list) else response["transactions"]) == 100
    assert ask(client, method, *params) == (True, response)


def test_long_parameters_are_decoded_beside_other_requests(client: ApiClient) -> None:
    data = "0x" + "00" * POLICY.params_bytes
    at_once, response = ask(client, "eth_call", {"to": str(ALICE), "data": data})
    assert (at_once, response) == (False, "0x")


@pytest.mark.parametrize(
    ("method", "params", "runs"),
    [
        ("eth_getTransactionCount", [str(ALICE), "pending"], 0),
        ("eth_getBalance", [str(LOGGER), "pending"], 1),
        ("eth_getCode", [str(LOGGER), "pending"], 1),
        ("eth_getBlockByNumber", ["pending", True], 1),
        ("eth_getBlockTransactionCountByNumber", ["pending"], 1),
        ("eth_call", [{"to": TARGET}, "pending"], 1),
    ],
)
def test_a_batch_of_requests_about_the_pending_block_builds_it_once(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch, method: str, params: list[object], runs: int
) -> None:
    for nonce in range(50):
        client.chain.add(transaction(nonce))
    transitions = []
    create = client.chain.filler.create

    def counted(*arguments: Any) -> BlockExecutor:
        transitions.append(create(*arguments))
        return transitions[-1]

    monkeypatch.setattr(client.chain.filler, "create", counted)
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    responses = client.post([call] * 500)
    assert len(responses) == 500
    assert all(response == responses[0] for response in responses)
    assert "result" in responses[0]
    assert len(transitions) == runs


async def _waiting(*waits: asyncio.Future[int]) -> int:
    return sum([await wait for wait in waits])


async def test_a_coroutine_that_waits_goes_on_where_it_was() -> None:
    loop = asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    second.set_result(40)
    deferred = started(_waiting(first, second))
    assert isinstance(deferred, Awaitable)
    loop.call_soon(first.set_result, 2)
    assert await deferred == 42


async def test_an_error_that_a_coroutine_waits_for_is_its_own() -> None:
    failing = asyncio.get_running_loop().create_future()
    deferred = started(_waiting(failing))
    assert isinstance(deferred, Awaitable)
    failing.set_exception(ValueError("late"))
    with pytest.raises(ValueError, match="late"):
        await deferred


async def _result_of(future: asyncio.Future[bytes]) -> bytes:
    return await future


async def test_a_started_coroutine_has_its_result_at_once_if_a_flush_makes_it() -> None:
    future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    assert started(_result_of(future), lambda: future.set_result(b"sent")) == b"sent"
