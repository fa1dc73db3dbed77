"""Raw transactions in batches and floods: who was answered has a durable block, and nobody affects others."""

from __future__ import annotations

import http.client
import random
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol._native import keccak256
from entresol.primitives.transactions import FeeMarketTransaction, sign
from entresol.primitives.values import Address
from tests.support.chain.dev_chain import fee_market
from tests.support.inprocess_node import InprocessNode, inprocess_node
from tests.support.node_process import RunningNode, running_node
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import HttpRpcClient

CHAIN_ID = 31337
FLAGS = ("--no-l1", "--chain-id", str(CHAIN_ID), "--log-level", "warning")
BATCH = 50

# Deploys the nine bytes of code after it.
DEPLOY = bytes.fromhex("6009600c60003960096000f3")


@pytest.fixture(scope="module")
def node() -> Iterator[InprocessNode]:
    with inprocess_node(*FLAGS) as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.printed()


@pytest.fixture
def client(node: InprocessNode) -> Iterator[HttpRpcClient]:
    connected = HttpRpcClient(node.url)
    yield connected
    connected.close()


def secret(number: int) -> bytes:
    return (0xE57 << 64 | number).to_bytes(32)


def raw(nonce: int, by: bytes, to: Address | None = None, **fields: Any) -> str:
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        max_priority_fee_per_gas=fields.pop("tip", 0),
        max_fee_per_gas=2 * 10**9,
        gas_limit=fields.pop("gas", 21_000),
        to=to,
        **{"value": 1, **fields},
    )
    return "0x" + sign(payload, by).raw.hex()


def address(by: bytes) -> Address:
    return sign(
        fee_market(0, None, chain_id=1, gas=0, fee=0),
        by,
    ).sender  # fmt: skip


def rich(client: HttpRpcClient, *numbers: int) -> None:
    """Give accounts ether."""
    found = [
        ("anvil_setBalance", [str(address(secret(number))), hex(10**20)]) for number in numbers
    ]
    client.batch(found)


def sends(*raws: str) -> list[tuple[str, list[object]]]:
    return [("eth_sendRawTransaction", [raw]) for raw in raws]


def test_the_transactions_of_a_batch_share_blocks_and_keep_their_order(
    client: HttpRpcClient,
) -> None:
    rich(client, 1, 2)
    before = int(client("eth_blockNumber"), 16)
    to = address(secret(3))
    raws = [raw(nonce, secret(by), to, tip=by) for nonce in range(20) for by in (1, 2)]
    hashes = client.batch(sends(*raws))
    receipts = [client("eth_getTransactionReceipt", name) for name in hashes]
    assert {receipt["status"] for receipt in receipts} == {"0x1"}
    places = [
        (int(receipt["blockNumber"], 16), int(receipt["transactionIndex"], 16))
        for receipt in receipts
    ]
    assert places == sorted(places)
    assert int(client("eth_blockNumber"), 16) - before < len(raws) / 4


def test_a_read_sees_what_the_batch_has_sent_before_it(client: HttpRpcClient) -> None:
    rich(client, 10)
    sender, to = str(address(secret(10))), address(secret(11))
    raws = [raw(nonce, secret(10), to) for nonce in range(4)]
    count = ("eth_getTransactionCount", [sender, "latest"])
    number: tuple[str, list[object]] = ("eth_blockNumber", [])
    results = client.batch(
        [count, number, *sends(*raws[:3]), count, number, *sends(raws[3]), count]
    )
    assert [results[at] for at in (0, 5, 8)] == ["0x0", "0x3", "0x4"]
    assert results[1] == results[6] == client("eth_blockNumber"), "after all sends of the batch"
    receipt = ("eth_getTransactionReceipt", [results[2]])
    sent = raw(4, secret(10), to)
    assert client.batch([receipt, *sends(sent), receipt])[2]["status"] == "0x1"


def test_a_contract_that_a_batch_deploys_is_called_by_another_sender_after_it(
    client: HttpRpcClient,
) -> None:
    rich(client, 20, 21)
    deployer = secret(20)
    created = Address(keccak256(b"\xd6\x94" + address(deployer) + b"\x80")[12:])
    # It returns the transferred ether, so a call without code would keep it.
    code = bytes.fromhex("5f5f5f5f47335af100")
    deploy = raw(0, deployer, gas=200_000, value=0, data=DEPLOY + code)
    call = raw(0, secret(21), created, gas=100_000, value=7, tip=10**9)
    sent = client.batch(sends(deploy, call))
    receipts = [client("eth_getTransactionReceipt", transaction) for transaction in sent]
    assert [receipt["status"] for receipt in receipts] == ["0x1", "0x1"]
    assert client("eth_getBalance", str(created), "latest") == "0x0"


def test_a_batch_of_ten_thousand_lets_others_be_served() -> None:
    with inprocess_node(*FLAGS, "--batch-limit", "10000") as running:
        client, other = HttpRpcClient(running.url), HttpRpcClient(running.url)
        rich(client, *range(1, 11))
        to = address(secret(99))
        raws = [raw(nonce, secret(by), to) for nonce in range(1_000) for by in range(1, 11)]
        responses: list[Any] = []
        sender = threading.Thread(target=lambda: responses.extend(client.batch(sends(*raws))))
        sender.start()
        served = 0
        while sender.is_alive():
            other("eth_blockNumber")
            served += 1
        sender.join()
        assert served > 10
        assert all(isinstance(response, str) for response in responses)
        assert other("eth_getTransactionCount", str(address(secret(1))), "latest") == "0x3e8"
        client.close()
        other.close()


def test_a_client_that_disconnects_affects_nobody(
    node: InprocessNode, client: HttpRpcClient
) -> None:
    rich(client, 50, 51)
    to = address(secret(52))
    body = msgspec.json.encode(
        [
            {"jsonrpc": "2.0", "id": nonce, "method": "eth_sendRawTransaction",
             "params": [raw(nonce, secret(50), to)]}
            for nonce in range(200)
        ]
    )  # fmt: skip
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", node.port)) as gone:
        gone.sendall(head % len(body) + body)
    results = client.batch(sends(*(raw(nonce, secret(51), to) for nonce in range(BATCH))))
    assert all(isinstance(result, str) for result in results)
    count = ("eth_getTransactionCount", str(address(secret(50))), "latest")
    eventually(lambda: int(client(*count), 16) in {0, 200})


class Flood:
    """Sends batches of transfers of one sender each over a few connections, and records what was acknowledged."""

    def __init__(self, node: RunningNode, connections: int = 4) -> None:
        self.acknowledged: list[str] = []
        self._url = node.url
        self._threads = [
            threading.Thread(target=self._run, args=(100 + at,)) for at in range(connections)
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        client, to = HttpRpcClient(self._url), address(secret(99))
        sender = str(address(secret(number)))
        try:
            client("anvil_setBalance", sender, hex(10**20))
            first = int(client("eth_getTransactionCount", sender, "latest"), 16)
            for nonce in range(first, first + 100 * BATCH, BATCH):
                raws = [raw(name, secret(number), to) for name in range(nonce, nonce + BATCH)]
                results = client.batch(sends(*raws))
                self.acknowledged += [result for result in results if isinstance(result, str)]
        except (OSError, http.client.HTTPException, msgspec.DecodeError):
            return
        finally:
            client.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["term", "kill"])
def test_what_a_flood_was_acknowledged_survives(tmp_path: Path, number: signal.Signals) -> None:
    randomness = random.Random("entresol")
    directory = (*FLAGS, "--data-dir", str(tmp_path / "chain"))
    acknowledged: list[str] = []
    for _ in range(2):
        with running_node(*directory) as running:
            flood = Flood(running)
            wanted = randomness.randrange(1, 10) * BATCH
            eventually(lambda flood=flood, wanted=wanted: len(flood.acknowledged) >= wanted)  # type: ignore[misc]
            time.sleep(randomness.uniform(0, 0.02))
            running.process.send_signal(number)
            running.process.wait(PATIENCE_SECONDS)
            flood.join()
            acknowledged += flood.acknowledged
    with running_node(*directory) as running:
        client = HttpRpcClient(running.url)
        for first in range(0, len(acknowledged), 100):
            some = acknowledged[first : first + 100]
            receipts = client.batch([("eth_getTransactionReceipt", [name]) for name in some])
            assert all(receipt is not None and receipt["status"] == "0x1" for receipt in receipts)
        client.close()
