"""Rolling back, reorganizing and resetting a chain over RPC."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from entresol.execution.block_executor import BlockExecutor
from entresol.node.config.api import ApiConfig
from entresol.primitives.records import TransactionResult
from entresol.primitives.transactions import Transaction
from entresol.primitives.transactions.system import SYSTEM_SENDER
from entresol.sequencer.automine import BlockSealer
from tests.support.chain.api_client import TARGET, ApiClient, importing_api, running_api, send
from tests.support.chain.dev_chain import ALICE, LOGGER, NOBODY, transaction
from tests.support.hex_data import hexed
from tests.support.rpc_client import RpcError


@pytest.mark.parametrize(
    ("params", "left"), [([], 4), ([None], 4), ([1], 4), (["0x3"], 2), ([0], 5)]
)
def test_blocks_are_rolled_back(client: ApiClient, params: list[object], left: int) -> None:
    for nonce in range(5):
        send(client, nonce)
    kept = client("eth_getBlockByNumber", hex(left), False)
    assert client("anvil_rollback", *params) is None
    assert client("eth_getBlockByNumber", "latest", False) == kept
    assert client("eth_getTransactionCount", str(ALICE), "latest") == hex(left)
    assert client("eth_getBlockByNumber", hex(left + 1), False) is None


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("anvil_rollback", [3], "Rollback depth must not exceed current chain height: current height 2, depth 3"),
        ("anvil_reorg", [3, []], "Reorg depth must not exceed current chain height: current height 2, depth 3"),
        (
            "anvil_reorg",
            [1, [[{"from": str(ALICE), "to": str(NOBODY)}, 3]]],
            (
                "Block number for reorg tx will exceed the reorged chain height. "
                "Block number 3 must not exceed (depth-1) 0"
            ),
        ),
        ("anvil_reset", [{}], "Forking not enabled and RPC URL not provided to start forking"),
    ],
)  # fmt: skip
def test_what_cannot_be_rolled_back_is_rejected_in_the_words_of_anvil(
    client: ApiClient, method: str, params: list[object], text: str
) -> None:
    client("anvil_mine", 2)
    rejection = client.error(method, *params)
    assert (rejection.code, rejection.message) == (-32602, text)
    assert client.chain.number == 2


def test_a_reorg_has_other_blocks_with_the_given_transactions(client: ApiClient) -> None:
    for nonce in range(3):
        send(client, nonce)
    before = [client("eth_getBlockByNumber", hex(number), False)["hash"] for number in range(4)]
    pairs = [
        [{"from": str(ALICE), "to": str(NOBODY), "value": "0x7"}, 1],
        [hexed(transaction(1, wei=9).raw), 0],
    ]
    assert client("anvil_reorg", 2, pairs) is None
    blocks = [client("eth_getBlockByNumber", hex(number), True) for number in range(4)]
    assert [block["hash"] for block in blocks[:2]] == before[:2]
    assert not {block["hash"] for block in blocks[2:]} & set(before)
    assert [
        [transaction["value"] for transaction in block["transactions"]] for block in blocks[2:]
    ] == [["0x9"], ["0x7"]]
    assert client.chain.number == 3


def test_heavy_transactions_of_a_reorg_execute_on_a_thread(
    client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client("evm_mine")
    # Counts down from 20,000; the gas limit is more than a block on the event loop may have.
    heavy = {"from": str(ALICE), "data": "0x614e205b600190038060035700", "gas": hex(4_000_000)}
    threads: set[str] = set()
    run = BlockExecutor.run

    def noted(executor: BlockExecutor, transaction: Transaction) -> TransactionResult:
        threads.add(threading.current_thread().name.partition("_")[0])
        return run(executor, transaction)

    async def reorganize(request: bytes) -> bytes:
        sealer = BlockSealer(client.chain)
        monkeypatch.setattr(client.api.services.sequencer, "seal", sealer.seal)
        response = await client.handle(request)
        await sealer.stop()
        return response

    monkeypatch.setattr(BlockExecutor, "run", noted)
    pairs = [[heavy, 0]]
    request = {"jsonrpc": "2.0", "id": 1, "method": "anvil_reorg", "params": [1, pairs]}
    assert b'"result":null' in asyncio.run(reorganize(msgspec.json.encode(request)))
    assert threads == {"seal"}
    assert len(client.chain.blocks.record(1).transactions) == 1


@pytest.mark.parametrize("pairs", [[[{}]], [5], [["0x", 0, 1]], [[{"to": 5}, 0]]])
def test_what_is_no_transaction_of_a_reorg_is_rejected(client: ApiClient, pairs: object) -> None:
    client("evm_mine")
    assert client.error("anvil_reorg", 1, pairs).code == -32602
    assert client.chain.number == 1


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("anvil_reset", [], None),
        ("anvil_reset", [None], None),
        ("hardhat_reset", [], True),
        ("hardhat_reset", [{}], True),
    ],
)
def test_a_chain_is_reset(
    client: ApiClient, method: str, params: list[object], result: object
) -> None:
    genesis = client("eth_getBlockByNumber", "0x0", False)
    send(client)
    client("anvil_setBalance", str(NOBODY), "0x99")
    assert client(method, *params) is result
    assert client("eth_getBlockByNumber", "latest", False) == genesis
    assert client("eth_getBalance", str(NOBODY)) == "0x0"
    send(client)
    assert client.chain.number == 1


@pytest.mark.parametrize("method", ["anvil_reset", "hardhat_reset"])
@pytest.mark.parametrize(
    "options",
    [{"forking": {"jsonRpcUrl": "http://x"}}, {"jsonRpcUrl": "http://x", "blockNumber": 5}],
)
def test_forking_is_rejected_by_name(client: ApiClient, method: str, options: object) -> None:
    client("evm_mine")
    with pytest.raises(RpcError, match="`forking` is not supported") as rejection:
        client(method, options)
    assert rejection.value.code == -32000
    assert client.chain.number == 1


@pytest.mark.parametrize(
    "call", [("anvil_rollback", [2]), ("anvil_reset", []), ("anvil_reorg", [2, []])]
)
def test_filters_see_logs_that_are_removed(client: ApiClient, call: tuple[str, list[Any]]) -> None:
    watching = client("eth_newFilter", {"address": str(LOGGER)})
    for nonce in range(2):
        send(client, nonce, to=LOGGER, data=b"x", wei=0)
    assert [log["removed"] for log in client("eth_getFilterChanges", watching)] == [False, False]
    client(call[0], *call[1])
    assert [log["removed"] for log in client("eth_getFilterChanges", watching)] == [True, True]


def test_a_reorganisation_does_not_bring_one() -> None:
    """A transaction of the node itself."""
    node = str(SYSTEM_SENDER)
    with importing_api() as client:
        client("anvil_impersonateAccount", node)
        sent = {"from": node, "to": node, "gas": "0x50000", "gasPrice": hex(10**9)}
        client("anvil_setBalance", node, hex(10**18))
        with pytest.raises(RpcError, match="only the node itself sends"):
            client("anvil_reorg", 1, [[sent, 0]])


def test_a_raw_transaction_has_its_hash_after_a_reorg() -> None:
    """Hardhat's errors are of the transaction that failed, and of no other."""
    with running_api(config=ApiConfig(hardhat_errors=True)) as hardhat:
        hardhat("anvil_setCode", TARGET, "0x5f5ffd")
        hardhat("evm_mine")
        failing = {"from": hexed(ALICE), "to": TARGET, "gas": "0x30000"}
        with pytest.raises(RpcError, match="Transaction reverted without a reason"):
            hardhat("eth_sendTransaction", failing)
        hardhat("anvil_reorg", 1, [])
        nonce = int(hardhat("eth_getTransactionCount", hexed(ALICE), "latest"), 16)
        sent = send(hardhat, nonce)
        assert hardhat("eth_getTransactionReceipt", sent)["status"] == "0x1"
