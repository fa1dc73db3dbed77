"""A node over WebSockets: responses that are longer than what an idle client may leave unread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.support.inprocess_node import inprocess_node
from tests.support.polling import PATIENCE_SECONDS

LOOPER = "0x" + "a2" * 20
MIB = 1024 * 1024


@contextmanager
def connected() -> Iterator[ClientConnection]:
    with (
        inprocess_node("--no-l1") as node,
        # With notifications that nobody has read, it would wait for a closing frame behind them.
        connect(node.url.replace("http", "ws"), max_size=None, close_timeout=0.1) as client,
    ):
        yield client


def receive(client: ClientConnection) -> str:
    return str(client.recv(timeout=PATIENCE_SECONDS))


def request(client: ClientConnection, method: str, *params: object) -> str:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    client.send(json.dumps(body))
    return receive(client)


@pytest.mark.parametrize("kind", ["newHeads", "syncing"])
def test_a_batch_responds_before_its_subscription_notifies(kind: str) -> None:
    calls = [("eth_subscribe", [kind]), ("evm_mine", []), ("anvil_mine", ["0x20"])]
    batch = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(calls)
    ]
    with connected() as client:
        client.send(json.dumps(batch))
        subscription = json.loads(receive(client))[0]["result"]
        notification = json.loads(receive(client))
        assert notification["params"]["subscription"] == subscription


def test_a_trace_of_more_than_32_mib_arrives() -> None:
    with connected() as client:
        request(client, "anvil_setCode", LOOPER, "0x5b5f56")
        call = {"to": LOOPER, "gas": hex(2_200_000)}
        assert len(request(client, "debug_traceCall", call, "latest")) > 32 * MIB
        assert '"result":"0x0"' in request(client, "eth_blockNumber")
