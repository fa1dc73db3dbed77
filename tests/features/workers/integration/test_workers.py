"""Nodes with workers: the same responses from every process, at once, whatever happens to a worker."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.support.chain.every_read import (
    FEW_TRACERS,
    Call,
    calls_of,
    reads_of_address,
    reads_of_block,
    reads_of_node,
    reads_of_transaction,
)
from tests.support.clients.accounts import ALICE, BOB, signed_transfer
from tests.support.clients.subscriber import Subscriber
from tests.support.node_process import RunningNode, running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import RECEIVER
from tests.support.rpc_client import RpcError, get
from tests.support.workers import ProcessClient, clients_of, connect_to, workers_of

FLAGS = ("--workers", "3", "--log-level", "warning")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    info = tmp_path_factory.mktemp("info") / "info.json"
    with running_node(*FLAGS, "--config-out", str(info), info=info) as running:
        eventually(info.exists)
        running.l1_url = json.loads(info.read_text())["l1"]["http_url"]  # type: ignore[attr-defined]
        yield running


def send(client: ProcessClient, **fields: str) -> str:
    return str(client("eth_sendTransaction", {"from": ALICE.address, **fields}))


def busy(client: ProcessClient) -> dict[str, Any]:
    """Make blocks with transfers, a contract, logs and an edit; return what requests can name."""
    # The contract emits a log with one topic, the number of the block.
    created = send(client, data="0x" + "6005600b5f3960055ff3" + "00" + "435f5fa100", gas="0x30000")
    receipt = client.receipt(created)
    contract = receipt["contractAddress"]
    logged = [send(client, to=contract, gas="0x20000") for _ in range(5)]
    client("anvil_setBalance", BOB.address, "0x123456")
    client("evm_mine")
    paid = send(client, to=BOB.address, value="0x5")
    block = client("eth_getBlockByNumber", "latest", True)
    return {"contract": contract, "logged": logged[2], "paid": paid, "block": block}


def reads_of(names: dict[str, Any]) -> Iterator[Call]:
    """Yield calls about what `busy` has made, and some that fail."""
    alice, bob, contract = ALICE.address, BOB.address, names["contract"]
    block = names["block"]
    yield from reads_of_node(alice)
    yield from reads_of_block(block, FEW_TRACERS[:1])
    yield from reads_of_transaction(block["transactions"][0], FEW_TRACERS[:1])
    for address in (bob, contract):
        yield from reads_of_address(address, "latest")
    yield from calls_of(alice, contract, "latest", ())
    for place in ("pending", "safe", block["number"], {"blockHash": block["hash"]}):
        yield "eth_getBalance", [bob, place]
    yield "eth_getTransactionReceipt", [names["logged"]]
    yield "eth_getLogs", [{"fromBlock": "0x0", "toBlock": "latest", "address": contract}]
    yield "zks_estimateGasL1ToL2", [{"from": alice, "to": bob}]
    yield "entresol_getOpenTransfers", []
    yield "eth_call", [{"to": "0x12"}]
    yield "eth_getFilterChanges", ["0x99"]
    yield "nope_nope", []


def response(client: ProcessClient, method: str, params: Sequence[object]) -> Any:
    found = client.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    if method == "anvil_nodeInfo":
        del found["result"]["currentBlockTimestamp"]
    return found


@pytest.mark.parametrize("layer", ["L2", "L1"])
def test_every_process_gives_the_same_response(node: RunningNode, layer: str) -> None:
    url = node.url if layer == "L2" else node.l1_url  # type: ignore[attr-defined]
    with clients_of(node, url) as clients:
        names = busy(clients[0])
        if layer == "L2":
            # Blocks, receipts and logs show the batch, which is sealed some time after the last block.
            eventually(lambda: clients[0].receipt(names["paid"])["l1BatchNumber"])
        for method, params in reads_of(names):
            check_equal(clients, method, params, settles=layer == "L1")


def check_equal(
    clients: list[ProcessClient], method: str, params: Sequence[object], *, settles: bool
) -> None:
    """Check that all processes respond alike; what settlement changes meanwhile, at some moment."""

    def responses() -> set[str]:
        return {json.dumps(response(client, method, params)) for client in clients}

    if settles or method.startswith("zks_"):
        eventually(lambda: len(responses()) == 1, lambda: f"{method}: {responses()}")
    else:
        assert len(responses()) == 1, (method, responses())


def test_a_sender_sees_its_transaction_on_every_process(node: RunningNode) -> None:
    with clients_of(node) as clients:
        for round_ in range(12):
            sender = clients[round_ % len(clients)]
            sent = send(sender, to=BOB.address, value=hex(round_))
            for client in clients:
                receipt = client("eth_getTransactionReceipt", sent)
                assert receipt is not None
                assert int(client("eth_blockNumber"), 16) >= int(receipt["blockNumber"], 16)


def test_an_edit_and_its_revert_are_seen_at_once(node: RunningNode) -> None:
    with clients_of(node) as clients:
        _, first, second = clients
        before = first("eth_getBalance", BOB.address, "latest")
        snapshot = second("evm_snapshot")
        first("anvil_setBalance", BOB.address, "0x77")
        assert [client("eth_getBalance", BOB.address, "latest") for client in clients] == [
            "0x77"
        ] * 3
        second("evm_mine")
        assert [client("eth_getBalance", BOB.address, "latest") for client in clients] == [
            "0x77"
        ] * 3
        number = first("eth_blockNumber")
        assert first("evm_revert", snapshot) is True
        assert [client("eth_getBalance", BOB.address, "latest") for client in clients] == [
            before
        ] * 3
        assert [client("eth_getBlockByNumber", number, False) for client in clients] == [None] * 3


def test_a_batch_mixes_what_is_local_and_what_is_forwarded(node: RunningNode) -> None:
    with clients_of(node) as (_, worker, _):
        nonce = int(worker("eth_getTransactionCount", ALICE.address, "latest"), 16)
        before = int(worker("eth_blockNumber"), 16)
        number, sent, after, status, count, head = worker.batch(
            [
                ("eth_blockNumber", []),
                ("eth_sendRawTransaction", [signed_transfer(nonce)]),
                ("eth_getTransactionCount", [ALICE.address, "latest"]),
                ("txpool_status", []),
                ("eth_getTransactionCount", [ALICE.address, "pending"]),
                ("eth_blockNumber", []),
            ]
        )
        assert int(after, 16) == int(count, 16) == nonce + 1
        assert int(number, 16) == int(head, 16) == before + 1
        assert status["pending"] == "0x0"
        assert worker("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_a_filter_works_on_any_connection(node: RunningNode) -> None:
    with clients_of(node) as (producer, first, second):
        created = first("eth_newBlockFilter")
        producer("evm_mine")
        head = producer("eth_getBlockByNumber", "latest", False)["hash"]
        assert second("eth_getFilterChanges", created) == [head]
        assert producer("eth_getFilterChanges", created) == []
        assert second("eth_uninstallFilter", created) is True
        with pytest.raises(RpcError, match="filter not found"):
            first("eth_getFilterChanges", created)


def test_subscribers_of_a_worker_are_notified(node: RunningNode) -> None:
    url, accepted = node.url.replace("http:", "ws:"), connect_to(node.url, workers_of(node)[0])
    with connect(url, sock=accepted) as opened, clients_of(node) as (producer, _, other):
        subscriber = Subscriber(opened)
        names = busy(producer)
        subscriber("eth_subscribe", "newHeads")
        for client in (producer, other):
            client("evm_mine")
            expected = producer("eth_getBlockByNumber", "latest", False)
            assert subscriber.next()["hash"] == expected["hash"]
        pending = subscriber("eth_subscribe", "newPendingTransactions")
        sent = send(other, to=BOB.address)
        assert {json.dumps(subscriber.next())[:20] for _ in range(2)} >= {json.dumps(sent)[:20]}
        assert subscriber("eth_unsubscribe", pending) is True
        snapshot = producer("evm_snapshot")
        subscriber("eth_subscribe", "logs", {"address": names["contract"]})
        logged = send(other, to=names["contract"], gas="0x20000")
        seen = [subscriber.next() for _ in range(2)]
        (log,) = [entry for entry in seen if entry.get("transactionHash") == logged]
        assert log["removed"] is False
        other("evm_revert", snapshot)
        removed = subscriber.next()
        assert (removed["removed"], removed["transactionHash"]) == (True, logged)


def until(subscriber: Subscriber, head: str) -> Iterator[dict[str, Any]]:
    """Yield notifications up to that of the block with the hash `head`."""
    while True:
        found = subscriber.next()
        yield found
        if found.get("hash") == head:
            return


def test_subscribers_of_a_worker_see_what_came_and_went_as_those_of_the_producer_do(
    node: RunningNode,
) -> None:
    url = node.url.replace("http:", "ws:")
    worker = connect_to(node.url, workers_of(node)[0])
    itself = connect_to(node.url, node.process.pid)
    with (
        connect(url, sock=worker) as first,
        connect(url, sock=itself) as second,
        clients_of(node) as (producer, _, _),
    ):
        names = busy(producer)
        subscribers = [Subscriber(first), Subscriber(second)]
        snapshot = producer("evm_snapshot")
        for subscriber in subscribers:
            subscriber("eth_subscribe", "newHeads")
            subscriber("eth_subscribe", "logs", {"address": names["contract"]})
        stopped = workers_of(node)[0]
        os.kill(stopped, signal.SIGSTOP)
        for _ in range(2):
            send(producer, to=names["contract"], gas="0x20000")
        producer("evm_revert", snapshot)
        producer("evm_mine")
        os.kill(stopped, signal.SIGCONT)
        last = producer("eth_getBlockByNumber", "latest", False)["hash"]
        seen = [list(until(subscriber, last)) for subscriber in subscribers]
    assert seen[0] == seen[1]
    assert [entry.get("removed") for entry in seen[0] if "removed" in entry] == [
        False,
        False,
        True,
        True,
    ]


def test_metrics_and_health_speak_for_the_whole_node(node: RunningNode) -> None:
    with clients_of(node) as clients:
        before = calls(node, "eth_protocolVersion")
        for client in clients:
            client("eth_protocolVersion")
        assert calls(node, "eth_protocolVersion") == before + 3
        health = json.loads(urllib.request.urlopen(f"{node.url}/health").read())
        assert health["status"] == "ready"
        assert health["workers"] == {"running": 2, "expected": 2, "silent": 0}


def calls(node: RunningNode, method: str) -> int:
    text = urllib.request.urlopen(f"{node.url}/metrics").read().decode()
    assert text.count("\nentresol_head_block ") == 1
    name = f'entresol_rpc_seconds_count{{method="{method}"}} '
    return sum(int(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))


def test_every_process_reads_the_index_of_accounts(node: RunningNode) -> None:
    target = "0x" + "ab" * 20
    with clients_of(node) as clients:
        sent = send(clients[0], to=target, value="0x1")
        for client in clients:
            page = client("entresol_getAccountTransactions", target)
            assert [transaction["hash"] for transaction in page["transactions"]] == [sent]
            assert client("entresol_findHashes", sent[:20])["transactions"] == [sent]


def test_every_worker_serves_every_chain(tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    flags = ("--chains", "2", "--workers", "2", "--log-level", "warning")
    with running_node(*flags, "--config-out", str(info), info=info) as running:
        chains = json.loads(info.read_text())["chains"]
        for value, it in enumerate(chains, start=1):
            with clients_of(running, it["http_url"]) as clients:
                producer, *workers = clients
                transfer = {"from": ALICE.address, "to": str(RECEIVER), "value": hex(value)}
                sent = producer("eth_sendTransaction", transfer)
                for client in (producer, *workers):
                    assert int(client("eth_chainId"), 16) == it["chain_id"]
                    assert int(client("eth_getBalance", str(RECEIVER), "latest"), 16) == value
                    assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"
                (worker,) = workers
                assert worker("zks_getMainContract") == it["contract"]
                worker("evm_mine")
                assert producer("eth_blockNumber") == "0x2"
                chain_id = str(it["chain_id"])
                for _ in clients:
                    # Whichever process accepts the connection.
                    health = json.loads(get(f"{it['http_url']}/health"))
                    assert health["chains"] == dict.fromkeys(("270", "271", "31337"))
                    metrics = get(f"{it['http_url']}/metrics").decode()
                    assert f'entresol_head_block{{chain="{chain_id}"}} 2\n' in metrics
                    assert f'entresol_workers{{chain="{chain_id}"}} 1\n' in metrics
