"""Both layers of a node, and what people do on them: deposit, send messages, withdraw and claim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.l1.contracts import NEW_PRIORITY_REQUEST
from entresol.primitives import abi
from entresol.primitives.assets import asset_id
from entresol.primitives.l2_to_l1_logs import L1_MESSAGE_SENT, L1_MESSENGER
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, BASE_TOKEN, NATIVE_TOKEN_VAULT
from tests.support.anvil import Anvil as Client
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS

CHAIN_ID = 270
L1_CHAIN_ID = 31337
ETHER = 10**18
USER = ACCOUNTS[3].address
RECEIVER = Address(b"\x5e" * 20)

GAS_LIMIT = 2_000_000
FEE = ETHER // 100
"""What is paid for a deposit's gas: far too much, so that there is something to give back."""

DIRECT = (
    "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],"
    "address))"
)
TWO_BRIDGES = (
    "requestL2TransactionTwoBridges((uint256,uint256,uint256,uint256,uint256,address,address,"
    "uint256,bytes))"
)
CLAIM = "finalizeDeposit((uint256,uint256,uint256,address,uint16,bytes,bytes32[]))"


class Pair:
    """The two layers of a running node."""

    def __init__(self, info: Path) -> None:
        told = json.loads(info.read_text(encoding="utf-8"))
        self.l2 = connect(told["http_url"])
        self.l1 = connect(told["l1"]["http_url"])
        self.contracts = {
            name: Address.parse(text) for name, text in told["l1"]["contracts"].items()
        }

    def close(self) -> None:
        """Close the connections."""
        self.l1.close()
        self.l2.close()

    # Going down

    def deposit(
        self,
        value: int = 1,
        *,
        to: Address = RECEIVER,
        data: bytes = b"",
        gas_limit: int = GAS_LIMIT,
    ) -> str:
        """Deposit ether, and return L1's transaction."""
        request = (
            CHAIN_ID, value + FEE, to, value, data, gas_limit, 800, (), USER,
        )  # fmt: skip
        call = abi.encode_call(DIRECT, request)
        return self.send_l1(self.contracts["bridgehub"], call, value + FEE)

    def deposit_token(self, token: Address, amount: int, *, gas_limit: int = GAS_LIMIT) -> str:
        """Deposit a token, and return L1's transaction."""
        inner = abi.encode("(uint256,address,address)", (amount, USER, token))
        data = b"\x01" + abi.encode("(bytes32,bytes)", (asset_id(L1_CHAIN_ID, token), inner))
        request = (
            CHAIN_ID, FEE, 0, gas_limit, 800, USER, self.contracts["asset_router"], 0, data,
        )  # fmt: skip
        return self.send_l1(self.contracts["bridgehub"], abi.encode_call(TWO_BRIDGES, request), FEE)

    def create_token(self, amount: int = 10**6) -> Address:
        """Create a token on L1 that the user has, and may deposit."""
        arguments = abi.encode("(string,string,uint8)", ("Token", "TOK", 18))
        made = self.send_l1(None, artifact("TestERC20").bytecode + arguments)
        token = Address.parse(self.receipt_l1(made)["contractAddress"])
        mint = abi.encode_call("mint(address,uint256)", USER, amount)
        approve = abi.encode_call(
            "approve(address,uint256)", self.contracts["asset_router"], amount
        )
        for call in (mint, approve):
            assert self.receipt_l1(self.send_l1(token, call))["status"] == "0x1"
        return token

    def priority_hashes(self, transaction: str) -> list[str]:
        """Return the hashes on L2 of what an L1 transaction sends there."""
        return [
            log["data"][66:130]
            for log in self.receipt_l1(transaction)["logs"]
            if log["topics"][0] == str(NEW_PRIORITY_REQUEST)
        ]

    def arrived(self, transaction: str) -> dict[str, Any]:
        """Wait for a deposit on L2, and return its receipt there."""
        (named,) = self.priority_hashes(transaction)
        return self.receipt_l2("0x" + named)

    # Going up

    def withdraw(self, value: int = 1) -> str:
        """Withdraw ether, and return L2's transaction."""
        return self.send_l2(BASE_TOKEN, abi.encode_call("withdraw(address)", USER), value)

    def withdraw_token(self, token: Address, amount: int) -> str:
        """Withdraw a token of L1, and return L2's transaction."""
        inner = abi.encode("(uint256,address,address)", (amount, USER, self.token_on_l2(token)))
        asset = asset_id(L1_CHAIN_ID, token)
        return self.send_l2(ASSET_ROUTER, abi.encode_call("withdraw(bytes32,bytes)", asset, inner))

    def send_message(self, message: bytes) -> str:
        """Send a message to L1, and return L2's transaction."""
        return self.send_l2(L1_MESSENGER, abi.encode_call("sendToL1(bytes)", message))

    def token_on_l2(self, token: Address) -> Address:
        """Return where a token of L1 is on L2; zero if it has not arrived."""
        asked = abi.encode_call("tokenAddress(bytes32)", asset_id(L1_CHAIN_ID, token))
        return Address(self.call(self.l2, NATIVE_TOKEN_VAULT, asked)[12:])

    def proof(self, transaction: str, index: int = 0) -> dict[str, Any] | None:
        """Return the proof of a log, or None if L1 does not have its batch yet."""
        found: dict[str, Any] | None = self.l2.rpc("zks_getL2ToL1LogProof", transaction, index)
        return found

    def proven(self, transaction: str, index: int = 0) -> dict[str, Any]:
        """Wait for the proof of a log."""
        return eventually(lambda: self.proof(transaction, index))

    def claim(self, transaction: str) -> str:
        """Wait until a withdrawal can be claimed, claim it, and return L1's transaction."""
        proof = self.proven(transaction)
        receipt = self.receipt_l2(transaction)
        sent = next(it for it in receipt["logs"] if it["topics"][0] == str(L1_MESSAGE_SENT))
        (message,) = abi.decode("(bytes)", bytes.fromhex(sent["data"][2:]))
        claim = (
            CHAIN_ID,
            int(receipt["l1BatchNumber"], 16),
            proof["id"],
            bytes.fromhex(sent["topics"][1][26:]),
            int(receipt["l1BatchTxIndex"], 16),
            message,
            [bytes.fromhex(word[2:]) for word in proof["proof"]],
        )
        call = abi.encode_call(CLAIM, claim)
        return self.send_l1(self.contracts["nullifier"], call)

    def is_claimed(self, transaction: str) -> bool:
        """Say whether a withdrawal that can be claimed was claimed."""
        proof = self.proven(transaction)
        asked = abi.encode_call(
            "isWithdrawalFinalized(uint256,uint256,uint256)",
            *(CHAIN_ID, proof["batchNumber"], proof["id"]),
        )
        return any(self.call(self.l1, self.contracts["nullifier"], asked))

    # Settlement

    def totals(self) -> tuple[int, int, int]:
        """Return how many batches L1 has committed, proven and executed."""
        chain = self.contracts["chain"]
        committed, proven, executed = (
            int.from_bytes(self.call(self.l1, chain, abi.selector(f"getTotalBatches{step}()")))
            for step in ("Committed", "Verified", "Executed")
        )
        return committed, proven, executed

    def settled(self) -> int:
        """Wait until every transaction of L2 is in a batch that is executed; return the last batch."""

        def look() -> int | None:
            head = int(self.l2.rpc("eth_blockNumber"), 16)
            final = self.l2.rpc("eth_getBlockByNumber", "finalized", False)
            last = int(self.l2.rpc("zks_L1BatchNumber"), 16)
            return last + 1 if int(final["number"], 16) == head else None

        return eventually(look) - 1

    # Transactions

    def send_l1(self, to: Address | None, data: bytes, value: int = 0) -> str:
        """Have L1 sign and take a transaction."""
        return _send(self.l1, to, data, value)

    def send_l2(self, to: Address, data: bytes, value: int = 0) -> str:
        """Have L2 sign and take a transaction."""
        return _send(self.l2, to, data, value)

    def receipt_l1(self, transaction: str) -> dict[str, Any]:
        """Wait for a receipt."""
        return self.l1.receipt(transaction)

    def receipt_l2(self, transaction: str) -> dict[str, Any]:
        """Wait for a receipt."""
        return self.l2.receipt(transaction)

    def call(self, layer: Client, to: Address, data: bytes) -> bytes:
        """Return what a call answers."""
        answer: str = layer.rpc("eth_call", {"to": str(to), "data": "0x" + data.hex()}, "latest")
        return bytes.fromhex(answer[2:])


def connect(url: str) -> Client:
    """Return a connection to a layer."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return Client(parts.hostname, parts.port, pid=0)


def message_hash(message: bytes) -> str:
    """Return the hash by which a message is asked for."""
    return "0x" + keccak256(message).hex()


def _send(layer: Client, to: Address | None, data: bytes, value: int) -> str:
    transaction = {"from": str(USER), "data": "0x" + data.hex(), "value": hex(value)}
    if to is not None:
        transaction["to"] = str(to)
    taken: str = layer.rpc("eth_sendTransaction", transaction)
    return taken
