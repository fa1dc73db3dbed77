"""A file of the data directory that is damaged while the node runs."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.errors import INTERNAL
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.feature import ServedChain
from entresol.server.config import ServerConfig
from entresol.server.handler import LocalConnection

ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
COUNTER = "0x" + "a2" * 20
COUNT = "0x5f546001015f555f545f5260205ff3"
CALL = {"from": ALICE, "to": COUNTER, "gas": hex(200_000)}
BLOCKS = 300
"""So many that what a start reads does not bring the rest of the store into memory."""
REQUESTS: list[tuple[str, list[Any]]] = [
    ("eth_getBlockByNumber", ["0x3", True]),
    ("eth_getBalance", [ALICE, "0x3"]),
    ("eth_getStorageAt", [COUNTER, "0x0", "0x5"]),
    ("eth_call", [CALL, "0x5"]),
    ("eth_call", [CALL, "latest"]),
    ("eth_estimateGas", [CALL]),
    ("eth_createAccessList", [CALL, "latest"]),
    ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}]),
    ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest", "address": COUNTER}]),
    ("eth_getProof", [ALICE, [], "latest"]),
    ("eth_getTransactionReceipt", ["0x" + "11" * 32]),
    ("eth_feeHistory", ["0x20", "latest", [10]]),
    ("eth_simulateV1", [{"blockStateCalls": [{"calls": [CALL]}]}, "0x3"]),
    ("debug_traceBlockByNumber", ["0x5"]),
    ("ots_searchTransactionsBefore", [ALICE, 0, 25]),
    ("anvil_dumpState", []),
    ("anvil_rollback", [30]),
    ("eth_sendTransaction", [CALL]),
]


def damage(path: Path) -> None:
    """Change bytes all over the files of a store."""
    for file in path.rglob("*.sst"):
        data = bytearray(file.read_bytes())
        for index in range(0, len(data) * 9 // 10, 64):
            data[index] ^= 0xFF
        file.write_bytes(data)


async def call(api: ServedChain, method: str, params: list[Any]) -> Any:
    """Return a response."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response = api.dispatcher.handle(body, LocalConnection())
    data = response if isinstance(response, bytes | None) else await response
    return msgspec.json.decode(data or b"null")


def test_damage_that_is_read_later_is_a_clear_error_a_health_of_503_and_one_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "chain"
    config = NodeConfig(
        chain=ChainConfig(data_dir=str(path)),
        l1=L1Config(l1=False),
        server=ServerConfig(port=0),
    )

    async def fill() -> None:
        node = build_node(config)
        api = node.layer_two.api
        await call(api, "anvil_setCode", [COUNTER, COUNT])
        for _ in range(BLOCKS):
            await call(api, "eth_sendTransaction", [CALL])
        await node.stop()

    async def read() -> tuple[list[tuple[str, Any]], tuple[int, str, bytes]]:
        node = build_node(config)
        damage(path)
        responses = [(request[0], await call(node.layer_two.api, *request)) for request in REQUESTS]
        health = node.layer_two.health_page()
        assert node.chain.number == BLOCKS
        assert not node.chain.pool
        await node.stop()
        return responses, health

    asyncio.run(fill())
    caplog.clear()
    responses, (status, _, page) = asyncio.run(read())
    errors = {method: it["error"] for method, it in responses if "error" in it}
    assert len(errors) > len(REQUESTS) // 2
    for error in errors.values():
        assert error["code"] != INTERNAL
        assert "is damaged" in error["message"]
        assert str(tmp_path) not in json.dumps(error)
    assert status == 503
    assert "is damaged" in json.loads(page)["reason"]
    (line,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "entresol verify" in line.getMessage()
    assert "Traceback" not in caplog.text
