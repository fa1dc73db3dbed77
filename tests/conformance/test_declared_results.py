"""What methods return is what they declare: thousands of responses, of both layers, all types and all forks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
import pytest

from docs.tools.recording import Recorder
from entresol.chain.rules import FORKS, ChainRules
from entresol.primitives.batches import SettlementStep
from entresol.rpc.types.log_filter import SubscriptionOptions
from entresol.server.handler import LocalConnection
from tests.support.chain.every_read import (
    FEW_TRACERS,
    TRACERS,
    Call,
    calls_of,
    reads_of_address,
    reads_of_block,
    reads_of_node,
    reads_of_pending,
    reads_of_transaction,
)
from tests.support.chain.varied_chain import (
    CALLER,
    CODES,
    NOBODY,
    SENDERS,
    VariedChain,
    varied_chain,
)
from tests.support.declared_results import check_notification, check_response
from tests.support.rpc_client import DispatcherClient, RpcError

BATCH: Final = 50
FULL: Final = SubscriptionOptions(True)
LATEST: Final = FORKS[-1]
TYPES_OF_LAYERS: Final = {
    1: {"0x0", "0x1", "0x2", "0x3", "0x4"},
    2: {"0x0", "0x1", "0x2", "0x4", "0x71", "0x7d", "0xff"},
}


class Subscriber(LocalConnection):
    """A connection that keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self._sent: list[bytes] = []

    def send(self, data: bytes) -> bool:
        self._sent.append(data)
        return True

    def disconnect(self, reason: str) -> None:
        raise AssertionError(reason)

    def heard(self) -> Iterator[tuple[str, Any]]:
        """Yield the ids of subscriptions, with what was sent for them."""
        for data in self._sent:
            params = msgspec.json.decode(data)["params"]
            yield params["subscription"], params["result"]


async def results_of(client: DispatcherClient, calls: Iterable[Call]) -> Counter[str]:
    """Make calls, and compare their responses with what is declared; count the results that are not null."""
    served = [call for call in calls if call[0] in client.methods]
    counts: Counter[str] = Counter()
    for start in range(0, len(served), BATCH):
        requests = [
            {"jsonrpc": "2.0", "id": number, "method": name, "params": params}
            for number, (name, params) in enumerate(served[start : start + BATCH])
        ]
        responses = msgspec.json.decode(await client.handle(msgspec.json.encode(requests)))
        check_response(client.methods, requests, responses)
        for response in responses:
            counts[requests[response["id"]]["method"]] += response.get("result") is not None
    return counts


def reads_of(varied: VariedChain) -> Iterator[Call]:
    """Yield calls about all that a chain has; on the latest fork with all options."""
    client, is_latest = varied.client, varied.rules.fork == LATEST
    tracers = TRACERS if is_latest else FEW_TRACERS
    for number in range(3):
        block = client("eth_getBlockByNumber", hex(number), True)
        yield from reads_of_block(block, tracers)
        for transaction in block["transactions"]:
            yield from reads_of_transaction(transaction, tracers)
    for waiting in client("eth_pendingTransactions"):
        yield from reads_of_pending(waiting["hash"])
    created = [it["contractAddress"] for it in client("eth_getBlockReceipts", "0x2")]
    for address in (*CODES, *SENDERS, NOBODY, *filter(None, created)):
        yield from reads_of_address(str(address), "latest")
    for address in CODES if is_latest else (CALLER,):
        yield from calls_of(str(SENDERS[0]), str(address), "latest", tracers)
    for raw in varied.raw if is_latest else ():
        yield "trace_rawTransaction", ["0x" + raw.hex(), ["trace", "stateDiff"], "latest"]
    yield from reads_of_node(str(SENDERS[0]))


@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("layer", TYPES_OF_LAYERS)
def test_reads_return_what_they_declare(layer: int, fork: str) -> None:
    rules = ChainRules.layer_1() if layer == 1 else ChainRules.layer_2()
    with varied_chain(msgspec.structs.replace(rules, fork=fork)) as varied:
        counts = asyncio.run(results_of(varied.client, list(reads_of(varied))))
        block = varied.client("eth_getBlockByNumber", "0x2", True)
    has_access_lists = FORKS.index(fork) >= FORKS.index("berlin")
    rejected = set() if has_access_lists else {"eth_createAccessList"}
    assert {name for name, count in counts.items() if count == 0} == rejected
    assert counts.total() > (1_000 if fork == LATEST else 500)
    if fork == LATEST:
        assert {it["type"] for it in block["transactions"]} == TYPES_OF_LAYERS[layer]


@pytest.mark.parametrize("layer", TYPES_OF_LAYERS)
def test_notifications_are_what_they_declare(layer: int) -> None:
    rules = ChainRules.layer_1() if layer == 1 else ChainRules.layer_2()
    subscriber = Subscriber()
    with varied_chain(rules) as varied:
        subscriptions = varied.client.api.subscriptions
        kinds = {
            subscriptions.subscribe(subscriber, kind, options): name
            for name, kind, options in (
                ("`newHeads`", "newHeads", None),
                ("`logs`", "logs", None),
                ("`newPendingTransactions`", "newPendingTransactions", None),
                ("`newPendingTransactions` in full", "newPendingTransactions", FULL),
                ("`syncing`", "syncing", None),
            )
        }
        varied.client("anvil_rollback", "0x2")
        for raw in varied.raw:
            with suppress(RpcError):
                varied.client("eth_sendRawTransaction", "0x" + raw.hex())
        varied.client("evm_mine")
        subscriptions.publish()
    heard: Counter[str] = Counter()
    types = set()
    for identity, result in subscriber.heard():
        check_notification(kinds[identity], result)
        heard[kinds[identity]] += 1
        if isinstance(result, dict) and "type" in result:
            types.add(result["type"])
    assert set(heard) == set(kinds.values())
    assert types >= {"0x0", "0x1", "0x2", "0x4"}


def test_both_layers_of_a_node_return_what_they_declare_at_every_step_of_a_batch() -> None:
    counts = asyncio.run(_settled_results())
    assert {name for name, count in counts.items() if count == 0} == set()


async def _settled_results() -> Counter[str]:
    recorder = Recorder()
    try:
        node = await recorder.node(settles=False)
        assert node.rollup is not None
        counts: Counter[str] = Counter()
        for step in (None, *SettlementStep):
            if step is not None:
                await node.rollup.settle(step, 1)
            # No step changes what has been executed.
            tracers = FEW_TRACERS if step is None else ()
            for service in node.services:
                client = DispatcherClient(service.api.dispatcher)
                counts.update(await results_of(client, await _reads_of_layer(client, tracers)))
        return counts
    finally:
        await recorder.close()


async def _reads_of_layer(
    client: DispatcherClient, tracers: Sequence[dict[str, Any]]
) -> list[Call]:
    async def ask(name: str, *params: object) -> Any:
        request = {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}
        return msgspec.json.decode(await client.handle(msgspec.json.encode(request)))["result"]

    calls = [*reads_of_node(str(NOBODY))]
    for number in range(int(await ask("eth_blockNumber"), 16) + 1):
        block = await ask("eth_getBlockByNumber", hex(number), True)
        calls += reads_of_block(block, tracers)
        for transaction in block["transactions"]:
            calls += reads_of_transaction(transaction, ())
    return calls
