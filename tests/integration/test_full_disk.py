"""A node whose disk is full says so, changes nothing, and continues by itself once there is space."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_server import RawConnection
from tests.support.inprocess_node import inprocess_node
from tests.support.polling import eventually
from tests.support.small_disk import SmallDisk, mounted_disk

ALICE = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
MAX_TRANSACTIONS = 1_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with mounted_disk(tmp_path, 24) as mounted:
        yield mounted


def call(client: RawConnection, method: str, *params: object) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.loads(client.post(json.dumps(body).encode()).body)


def send(client: RawConnection) -> Any:
    """Send a transaction with some data, which needs space."""
    data = "0x" + "ab" * 2_000
    return call(client, "eth_sendTransaction", {"from": ALICE, "to": ALICE, "data": data})


def health(port: int) -> tuple[int, Any]:
    with RawConnection(port) as client:
        client.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        response = client.response()
        return response.status, json.loads(response.body)


def test_a_node_with_a_full_disk_says_so_and_continues_once_there_is_space(disk: SmallDisk) -> None:
    with (
        inprocess_node("--data-dir", str(disk.path / "chain")) as node,
        RawConnection(node.port) as client,
    ):
        assert "result" in send(client)
        assert health(node.port)[0] == 200
        disk.fill()
        responses = (send(client) for _ in range(MAX_TRANSACTIONS))
        error = next(response["error"] for response in responses if "error" in response)
        assert error["code"] == -32000
        assert "no space left" in error["message"]
        status, page = health(node.port)
        assert (status, page["status"]) == (503, "failing")
        assert "no space left" in page["reason"]
        sealed = call(client, "eth_getTransactionCount", ALICE, "latest")["result"]
        assert call(client, "eth_getTransactionCount", ALICE, "pending")["result"] == sealed
        assert call(client, "txpool_status")["result"] == {"pending": "0x0", "queued": "0x0"}
        assert "error" in send(client)
        assert "Traceback" not in node.printed()

        disk.enlarge(256)
        eventually(lambda: health(node.port)[0] == 200)
        transaction = send(client)["result"]
        assert call(client, "eth_getTransactionReceipt", transaction)["result"]["status"] == "0x1"
        count = call(client, "eth_getTransactionCount", ALICE, "latest")["result"]
        assert int(count, 16) == int(sealed, 16) + 1
        assert node.stop() == 0
