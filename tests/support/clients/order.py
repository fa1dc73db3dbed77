"""Senders that send one transaction after the other by several methods, without waiting for responses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeAlias

import msgspec
from websockets.sync.client import connect

from entresol.primitives.transactions import Paymaster, ZkTransaction, sign
from entresol.primitives.values import Address
from tests.support.blobs import blob_transaction, sample_sidecar
from tests.support.chain.dev_chain import fee_market
from tests.support.contracts.accounts import sign_by
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient
from tests.support.workers import ProcessClient, connect_to

FEE = 10**11
GAS = 1_000_000
DETAILED = "zks_sendRawTransactionWithDetailedOutput"

Requests: TypeAlias = list[dict[str, Any]]
Send: TypeAlias = Callable[[str, Requests, int | None], list[dict[str, Any]]]


def in_one_batch(url: str, requests: Requests, pid: int | None = None) -> list[dict[str, Any]]:
    with closing(HttpRpcClient(url) if pid is None else ProcessClient(url, pid)) as client:
        responses: list[dict[str, Any]] = client.post(requests)
    return responses


def over_one_websocket(
    url: str, requests: Requests, pid: int | None = None
) -> list[dict[str, Any]]:
    sock = None if pid is None else connect_to(url, pid)
    with connect(url.replace("http", "ws"), max_size=None, sock=sock) as websocket:
        for request in requests:
            websocket.send(msgspec.json.encode(request).decode())
        responses = [
            msgspec.json.decode(websocket.recv(PATIENCE_SECONDS)) for _ in range(len(requests))
        ]
    return sorted(responses, key=lambda response: response["id"])


def calls(*sent: tuple[str, Any]) -> Requests:
    return [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": [given]}
        for number, (method, given) in enumerate(sent)
    ]


class OrderedSender:
    """An account that counts its nonces; `paymaster` agrees to all that it sends, and receives it."""

    def __init__(self, url: str, secret: bytes, address: Address, paymaster: Address) -> None:
        self.url = url
        self.client = HttpRpcClient(url)
        self.chain_id = int(self.client("eth_chainId"), 16)
        self.secret = secret
        self.address = address
        self._paymaster = paymaster
        self.nonce = int(self.client("eth_getTransactionCount", str(address), "latest"), 16)

    def _next(self) -> int:
        self.nonce += 1
        return self.nonce - 1

    def raw(self, method: str = "eth_sendRawTransaction") -> tuple[str, str]:
        payload = fee_market(
            self._next(), self._paymaster, chain_id=self.chain_id, value=1, gas=100_000, fee=FEE
        )
        return method, "0x" + sign(payload, self.secret).raw.hex()

    def filled(self) -> tuple[str, dict[str, str]]:
        self._next()
        fields = {"from": str(self.address), "to": str(self._paymaster), "value": "0x1"}
        return "eth_sendTransaction", fields

    def blobs(self) -> tuple[str, str]:
        sidecar = sample_sidecar(1)
        raw = blob_transaction(
            self.secret, sidecar, nonce=self._next(), chain_id=self.chain_id, fee_cap=FEE
        )
        return "eth_sendRawTransaction", "0x" + raw.hex()

    def validated(self, method: str = "eth_sendRawTransaction") -> tuple[str, str]:
        general = b"\x8c\x5a\x34\x45" + bytes(31) + b"\x20" + bytes(32)
        payload = ZkTransaction(
            nonce=self._next(),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=FEE,
            gas_limit=GAS,
            to=self._paymaster,
            chain_id=self.chain_id,
            sender=self.address,
            gas_per_pubdata_limit=50_000,
            paymaster=Paymaster(self._paymaster, general),
        )
        return method, "0x" + sign_by(payload, self.secret).encode().hex()

    def nonces_of(self, responses: list[dict[str, Any]]) -> list[int]:
        found = []
        for response in responses:
            assert "error" not in response, response
            result = response["result"]
            sent = result["transactionHash"] if isinstance(result, dict) else result
            transaction = self.client("eth_getTransactionByHash", sent)
            assert transaction["blockNumber"] is not None
            found.append(int(transaction["nonce"], 16))
        return found
