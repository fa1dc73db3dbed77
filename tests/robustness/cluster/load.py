"""Clients of a cluster: they write and read through random nodes, and record what they were told."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from eth_account import Account
from web3 import Web3

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, derive
from tests.support.cluster.nodes import ClusterNodeProcess, ClusterProcesses
from tests.support.rpc_client import HttpRpcClient, RpcError

CHAIN_ID = 270
GWEI = 10**9
PATIENCE_SECONDS = 8.0
ACCOUNTS = derive(DEVELOPMENT_MNEMONIC, 10)

FAILURES = (OSError, http.client.HTTPException, msgspec.DecodeError)


class Acknowledged(NamedTuple):
    """A transaction that a node acknowledged."""

    hash: str
    node: str
    at: float


class Unwind:
    """A command that unwinds the chain to a block on purpose, or tries to."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.ended_at: float | None = None


class History:
    """What clients saw: acknowledged transactions, and heads by node, in the order in which they saw them."""

    def __init__(self) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.heads: dict[str, list[int]] = {}
        self.violations: list[str] = []
        self.unwinds: list[Unwind] = []

    @contextlib.contextmanager
    def unwinding(self, number: int) -> Iterator[None]:
        """Note that the chain may be unwound to a block meanwhile."""
        unwind = Unwind(number)
        self.unwinds.append(unwind)
        try:
            yield
        finally:
            unwind.ended_at = time.monotonic()

    def may_unwind_since(self, moment: float) -> bool:
        """Return whether a block may have been unwound that was there at a moment."""
        return any(unwind.ended_at is None or unwind.ended_at > moment for unwind in self.unwinds)


class Sender(threading.Thread):
    """Sends transfers of one account, each again until it is acknowledged, and reads what it has written."""

    def __init__(self, cluster: ClusterProcesses, history: History, index: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._history = history
        self._account = Account.from_key(bytes(ACCOUNTS[index].secret))
        self.receiver = Web3.to_checksum_address(bytes([0xA0 + index]) * 20)
        self._randomness = random.Random(f"{seed} {index}")
        self._stopped = threading.Event()
        self.sent = 0

    def stop(self) -> None:
        """End after the current transaction."""
        self._stopped.set()

    def run(self) -> None:
        """Send until it is stopped."""
        while not self._stopped.is_set():
            raw = self._signed(self.sent)
            while not self._send(raw):
                if self._stopped.wait(0.05):
                    return
            self.sent += 1

    def _signed(self, nonce: int) -> str:
        fields = {
            "chainId": CHAIN_ID,
            "nonce": nonce,
            "gas": 100_000,
            "value": 1,
            "to": self.receiver,
            "maxFeePerGas": GWEI,
            "maxPriorityFeePerGas": 0,
        }
        return Web3.to_hex(self._account.sign_transaction(fields).raw_transaction)

    def _send(self, raw: str) -> bool:
        node = self._randomness.choice(self._cluster.nodes)
        url = node.known_url
        if url is None:
            return False
        client = HttpRpcClient(url, PATIENCE_SECONDS)
        began = time.monotonic()
        try:
            sent = client("eth_sendRawTransaction", raw)
            self._history.acknowledged.append(Acknowledged(sent, node.name, time.monotonic()))
            self._check_own_write(client, node, sent, began)
        except RpcError as error:
            if "safe to send a raw transaction again" not in error.message:
                self._history.violations.append(f"{node.name} rejects a send: {error}")
            return False
        except FAILURES:
            return False
        else:
            return True
        finally:
            client.close()

    def _check_own_write(
        self, client: HttpRpcClient, node: ClusterNodeProcess, sent: str, began: float
    ) -> None:
        """Read the receipt at the node that acknowledged it; the node may be killed meanwhile."""
        try:
            receipt = client("eth_getTransactionReceipt", sent)
        except (*FAILURES, RpcError):
            return
        if receipt is None and not self._history.may_unwind_since(began):
            self._history.violations.append(f"{node.name} does not show {sent}, which it took")


class Reader(threading.Thread):
    """Reads the head of one node again and again: it never falls, but once for each time that the chain is unwound."""

    def __init__(self, node: ClusterNodeProcess, history: History) -> None:
        super().__init__(daemon=True)
        self._node = node
        self._history = history
        self._heads = history.heads.setdefault(node.name, [])
        self._falls = 0
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End after the current request."""
        self._stopped.set()

    def run(self) -> None:
        """Read until it is stopped."""
        while not self._stopped.wait(0.05):
            url = self._node.known_url
            if url is None:
                continue
            client = HttpRpcClient(url, PATIENCE_SECONDS)
            try:
                head = int(client("eth_blockNumber"), 16)
            except (*FAILURES, RpcError):
                continue
            finally:
                client.close()
            if self._heads and head < self._heads[-1]:
                self._check_fall(head)
            self._heads.append(head)

    def _check_fall(self, head: int) -> None:
        self._falls += 1
        unwinds = self._history.unwinds
        if self._falls > len(unwinds) or head < min(unwind.number for unwind in unwinds):
            self._history.violations.append(
                f"{self._node.name} went from {self._heads[-1]} to {head}"
            )
