"""Whatever runs on a chain while a developer method replaces it has a result or an error that says so."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from entresol.errors import INTERNAL
from entresol.node.build_node import build_node
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.node.feature import ServedChain
from entresol.node.node import Node
from entresol.server.config import ServerConfig
from entresol.server.handler import LocalConnection
from tests.support.polling import PATIENCE_SECONDS

ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SPENDER, COUNTER = "0x" + "a1" * 20, "0x" + "a2" * 20
# Reads a slot until its gas is nearly spent.
SPEND = "0x5b5f54505a611000105f5700"
COUNT = "0x5f546001015f555f545f5260205ff3"
BLOCKS = 4

SPENDING = {"from": ALICE, "to": SPENDER, "gas": hex(4_000_000)}
LONG: list[tuple[str, list[Any]]] = [
    ("anvil_dumpState", [True]),
    ("eth_call", [SPENDING, "latest"]),
    ("eth_estimateGas", [SPENDING]),
    ("eth_simulateV1", [{"blockStateCalls": [{"calls": [SPENDING]}] * 2}, "latest"]),
    ("eth_sendTransaction", [SPENDING]),
    ("eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest"}]),
    ("eth_getProof", [ALICE, [hex(number) for number in range(20)], "latest"]),
    ("eth_getBlockByNumber", ["pending", True]),
    ("debug_traceBlockByNumber", ["0x2"]),
    ("debug_traceCall", [{**SPENDING, "gas": hex(100_000)}, "latest", {}]),
    ("debug_executionWitness", ["0x2"]),
    ("debug_accountRange", ["latest", "0x", 256, False, False, False]),
    ("trace_block", ["0x2"]),
    ("ots_searchTransactionsBefore", [ALICE, 0, 25]),
    ("anvil_mine", [30]),
]
SETTLING: list[tuple[str, list[Any]]] = [
    ("anvil_zks_commitBatch", [1]),
    ("anvil_zks_executeBatch", [1]),
]


async def call(api: ServedChain, method: str, params: list[Any]) -> Any:
    """Return a result, or the error object."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    response = api.dispatcher.handle(body, LocalConnection())
    data = response if isinstance(response, bytes | None) else await response
    decoded = msgspec.json.decode(data or b"null")
    return decoded.get("error", decoded.get("result"))


async def fill(api: ServedChain) -> None:
    """Give a chain some blocks."""
    for address, code in ((SPENDER, SPEND), (COUNTER, COUNT)):
        await call(api, "anvil_setCode", [address, code])
    for _ in range(BLOCKS):
        await call(
            api, "eth_sendTransaction", [{"from": ALICE, "to": COUNTER, "gas": hex(200_000)}]
        )


@pytest.mark.parametrize(
    ("replacing", "params"),
    [
        ("anvil_reset", []),
        ("evm_revert", ["snapshot"]),
        ("anvil_rollback", [2]),
        ("anvil_reorg", [2, []]),
        ("anvil_loadState", ["dump"]),
    ],
)
@pytest.mark.parametrize("is_layer_one", [False, True])
def test_nothing_fails_internally_while_the_chain_is_replaced(
    replacing: str, params: list[object], is_layer_one: bool, caplog: pytest.LogCaptureFixture
) -> None:
    config = NodeConfig(
        chain=ChainConfig(),
        l1=L1Config(l1_port=0),
        settlement=SettlementSettings(settle=False),
        server=ServerConfig(port=0),
    )

    async def race(node: Node, api: ServedChain, methods: list[tuple[str, list[Any]]]) -> list[Any]:
        other = node.layer_two.api
        await call(other, "anvil_reset", [])
        values = {"snapshot": await call(api, "evm_snapshot", [])}
        await fill(other)
        if api is not other:
            await fill(api)
        values["dump"] = await call(api, "anvil_dumpState", [])
        given = [values.get(param, param) if isinstance(param, str) else param for param in params]
        calls = [
            *((other if method in SETTLING else api, *method) for method in methods),
            (api, replacing, given),
        ]
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            running = [group.create_task(call(*entry)) for entry in calls]
        return [(it[1], task.result()) for it, task in zip(calls, running, strict=True)]

    async def live() -> list[Any]:
        node = build_node(config)
        assert node.layer_one is not None
        await node.start()
        try:
            api = (node.layer_one if is_layer_one else node.layer_two).api
            return [
                entry for methods in (LONG, SETTLING) for entry in await race(node, api, methods)
            ]
        finally:
            await node.stop()

    results = asyncio.run(live())
    failures = [
        result
        for result in results
        if isinstance(result[1], dict) and result[1].get("code") == INTERNAL
    ]
    assert not failures
    assert "is damaged" not in caplog.text
    assert "Traceback" not in caplog.text
