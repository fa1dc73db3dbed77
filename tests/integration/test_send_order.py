"""A sender's transactions are included in the order in which it sends them, whatever it sends them by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeAlias

import msgspec
import pytest
from websockets.sync.client import connect

from entresol.inprocess.devnet import Devnet, devnet
from entresol.primitives.transactions import FeeMarketTransaction, Paymaster, ZkTransaction, sign
from entresol.primitives.values import Address
from tests.support.blobs import blob_transaction, sample_sidecar
from tests.support.contracts.accounts import paymaster_code, sign_by
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient

PAYMASTER = Address(b"\x55" * 20)
FEE = 10**11
GAS = 1_000_000

Send: TypeAlias = Callable[[str, list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def net() -> Iterator[Devnet]:
    """Return both layers; the L1 responds to raw transactions at once."""
    with devnet(l1_delay=0, silent=True) as running:
        yield running


def in_one_batch(url: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send all requests in one batch."""
    with closing(HttpRpcClient(url)) as client:
        responses: list[dict[str, Any]] = client.post(requests)
    return responses


def over_one_websocket(url: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send one request after the other, without waiting for responses."""
    with connect(url.replace("http", "ws"), max_size=None) as websocket:
        for request in requests:
            websocket.send(msgspec.json.encode(request).decode())
        responses = [
            msgspec.json.decode(websocket.recv(PATIENCE_SECONDS)) for _ in range(len(requests))
        ]
    return sorted(responses, key=lambda response: response["id"])


def calls(*sent: tuple[str, Any]) -> list[dict[str, Any]]:
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": [given]}
        for number, (method, given) in enumerate(sent)
    ]


class Sender:
    """An unlocked account of a layer, which counts its nonces."""

    def __init__(self, net: Devnet, layer: str, account: int) -> None:
        used = net.l1 if layer == "l1" else net.l2
        self.url, self.chain_id = used.url, used.chain_id
        self.client = HttpRpcClient(self.url)
        self.secret = bytes.fromhex(used.accounts[account].key.removeprefix("0x"))
        self.address = Address.parse(used.accounts[account].address)
        self.nonce = int(self.client("eth_getTransactionCount", str(self.address), "latest"), 16)

    def _next(self) -> int:
        self.nonce += 1
        return self.nonce - 1

    def raw(self, method: str = "eth_sendRawTransaction") -> tuple[str, str]:
        """Return a transfer that is signed here."""
        payload = FeeMarketTransaction(
            chain_id=self.chain_id,
            nonce=self._next(),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=FEE,
            gas_limit=100_000,
            to=PAYMASTER,
            value=1,
        )
        return method, "0x" + sign(payload, self.secret).raw.hex()

    def filled(self) -> tuple[str, dict[str, str]]:
        """Return a transfer that the node gives the next nonce to."""
        self._next()
        fields = {"from": str(self.address), "to": str(PAYMASTER), "value": "0x1"}
        return "eth_sendTransaction", fields

    def blobs(self) -> tuple[str, str]:
        """Return a transaction with a blob, whose proofs are verified first."""
        sidecar = sample_sidecar(1)
        raw = blob_transaction(
            self.secret, sidecar, nonce=self._next(), chain_id=self.chain_id, fee_cap=FEE
        )
        return "eth_sendRawTransaction", "0x" + raw.hex()

    def validated(self, method: str = "eth_sendRawTransaction") -> tuple[str, str]:
        """Return a transaction that a paymaster has to agree to."""
        payload = ZkTransaction(
            nonce=self._next(),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=FEE,
            gas_limit=GAS,
            to=PAYMASTER,
            chain_id=self.chain_id,
            sender=self.address,
            gas_per_pubdata_limit=50_000,
            paymaster=Paymaster(PAYMASTER, b"\x8c\x5a\x34\x45" + bytes(31) + b"\x20" + bytes(32)),
        )
        return method, "0x" + sign_by(payload, self.secret).encode().hex()

    def nonces_of(self, responses: list[dict[str, Any]]) -> list[int]:
        """Return the nonces of what was sent, each of which is in a block."""
        found = []
        for response in responses:
            result = response["result"]
            sent = result["transactionHash"] if isinstance(result, dict) else result
            transaction = self.client("eth_getTransactionByHash", sent)
            assert transaction["blockNumber"] is not None
            found.append(int(transaction["nonce"], 16))
        return found


@pytest.fixture
def on_l1(net: Devnet) -> Iterator[Sender]:
    sender = Sender(net, "l1", 1)
    yield sender
    sender.client.close()


@pytest.fixture
def on_l2(net: Devnet) -> Iterator[Sender]:
    """Return a sender beside a paymaster that pays."""
    sender = Sender(net, "l2", 1)
    sender.client("anvil_setCode", str(PAYMASTER), "0x" + paymaster_code(fee=GAS * FEE))
    sender.client("anvil_setBalance", str(PAYMASTER), hex(100 * GAS * FEE))
    yield sender
    sender.client.close()


@pytest.mark.parametrize("send", [in_one_batch, over_one_websocket])
def test_raw_filled_and_blob_transactions_are_included_in_order(on_l1: Sender, send: Send) -> None:
    sender, first = on_l1, on_l1.nonce
    sent = calls(
        sender.filled(),
        sender.raw(),
        sender.blobs(),
        sender.filled(),
        sender.raw(),
        sender.raw("eth_sendRawTransactionSync"),
        sender.filled(),
        sender.blobs(),
        sender.filled(),
    )
    responses = send(sender.url, sent)
    assert sender.nonces_of(responses) == list(range(first, sender.nonce))


@pytest.mark.parametrize("send", [in_one_batch, over_one_websocket])
def test_raw_filled_and_validated_transactions_are_included_in_order(
    on_l2: Sender, send: Send
) -> None:
    detailed = "zks_sendRawTransactionWithDetailedOutput"
    sender, first = on_l2, on_l2.nonce
    sent = calls(
        sender.raw(detailed),
        sender.filled(),
        sender.validated(),
        sender.raw(),
        sender.filled(),
        sender.validated(detailed),
        sender.filled(),
        sender.validated(),
        sender.validated(),
        sender.raw(detailed),
        sender.filled(),
    )
    responses = send(sender.url, sent)
    assert sender.nonces_of(responses) == list(range(first, sender.nonce))
