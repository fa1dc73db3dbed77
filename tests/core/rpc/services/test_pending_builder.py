"""A heavy pending block is built on a thread, for requests that came before it was opened."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from entresol.chain.sealing.pending_block import OpenBlock
from entresol.sequencer.sequencer import InlineSequencer
from entresol.server.handler import LocalConnection
from tests.support.chain.api_client import ApiClient
from tests.support.chain.dev_chain import ALICE, BLAKE2F, NOBODY, long_transaction, transaction

HEAVY = 2_000_000


@pytest.fixture
def heavy(client: ApiClient) -> ApiClient:
    """Return a chain whose pending transactions may use more gas than the event loop executes."""
    client("evm_setAutomine", False)
    for nonce in range(3):
        InlineSequencer(client.chain).submit(transaction(nonce, wei=1, gas=HEAVY).raw)
    return client


async def ask(client: ApiClient, method: str, *params: object) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response = client.api.dispatcher.handle(body.encode(), LocalConnection())
    settled = response if isinstance(response, bytes | None) else await response
    return json.loads(settled or b"")["result"]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the threads that execute open blocks from now on."""
    found: set[int] = set()
    execute = OpenBlock.execute

    def recorded(block: OpenBlock) -> None:
        found.add(threading.get_ident())
        execute(block)

    monkeypatch.setattr(OpenBlock, "execute", recorded)
    return found


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("eth_getBlockTransactionCountByNumber", ["pending"], "0x3"),
        ("eth_getBalance", [str(NOBODY), "pending"], "0x3"),
        ("eth_call", [{"to": str(NOBODY)}, "pending"], "0x"),
        ("eth_estimateGas", [{"from": str(ALICE), "to": str(NOBODY)}, "pending"], "0x5208"),
    ],
)
def test_a_heavy_block_executes_on_a_worker(
    heavy: ApiClient, threads: set[int], method: str, params: list[object], expected: str
) -> None:
    assert asyncio.run(ask(heavy, method, *params)) == expected
    assert threads
    assert threading.get_ident() not in threads


def test_a_block_that_takes_longer_than_its_gas_executes_on_a_worker(
    client: ApiClient, threads: set[int]
) -> None:
    client("evm_setAutomine", False)
    InlineSequencer(client.chain).submit(long_transaction(0, wei=1).raw)
    assert asyncio.run(ask(client, "eth_getBalance", str(BLAKE2F), "pending")) == "0x1"
    assert threads
    assert threading.get_ident() not in threads


def test_it_is_found_out_once_that_a_block_takes_longer_than_its_gas(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client("evm_setAutomine", False)
    InlineSequencer(client.chain).submit(long_transaction(0, wei=1).raw)
    begun = []
    fill = client.chain.filler.fill

    def counted(*inputs: Any, **options: Any) -> object:
        begun.append(inputs)
        return fill(*inputs, **options)

    monkeypatch.setattr(client.chain.filler, "fill", counted)
    for _ in range(3):
        assert asyncio.run(ask(client, "eth_getBalance", str(BLAKE2F), "pending")) == "0x1"
        client.chain.clock.increase(1, client.chain.head.timestamp)
    assert len(begun) == 1


def test_a_light_block_is_built_at_once(client: ApiClient) -> None:
    client("evm_setAutomine", False)
    InlineSequencer(client.chain).submit(transaction(0, wei=1).raw)
    body = b'{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["%b","pending"]}'
    response = client.api.dispatcher.handle(body % str(NOBODY).encode(), LocalConnection())
    assert b'"result":"0x1"' in response  # type: ignore[operator]


async def test_what_was_sent_before_a_request_is_in_its_block(heavy: ApiClient) -> None:
    first = asyncio.ensure_future(ask(heavy, "eth_getBalance", str(NOBODY), "pending"))
    await asyncio.sleep(0)
    InlineSequencer(heavy.chain).submit(transaction(3, wei=1, gas=HEAVY).raw)
    second = asyncio.ensure_future(ask(heavy, "eth_getBalance", str(NOBODY), "pending"))
    assert await first in {"0x3", "0x4"}
    assert await second == "0x4"


def test_blocks_that_are_sealed_meanwhile_do_not_stop_a_request(
    heavy: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = OpenBlock.execute

    def disturbed(block: OpenBlock) -> None:
        execute(block)
        # Another clock makes the block outdated.
        heavy.chain.clock.increase(1, heavy.chain.head.timestamp)

    monkeypatch.setattr(OpenBlock, "execute", disturbed)
    assert asyncio.run(ask(heavy, "eth_getBalance", str(NOBODY), "pending")) == "0x3"


def test_a_transaction_is_filled_after_a_heavy_block(heavy: ApiClient) -> None:
    given = {"from": str(ALICE), "to": str(NOBODY), "value": "0x1"}
    assert asyncio.run(ask(heavy, "eth_fillTransaction", given))["tx"]["gas"] == "0x5208"
