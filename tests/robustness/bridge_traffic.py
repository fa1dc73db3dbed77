"""Users of both layers: they deposit, transfer, withdraw, send messages and claim, and note what L2 acknowledged."""

from __future__ import annotations

import http.client
import random
import threading
from collections import Counter
from typing import Any, Final

from entresol.primitives.values import Address
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.pair import RECEIVER, USER, Json, Pair
from tests.support.rpc_client import RpcError

DISCONNECTED: Final = (OSError, http.client.HTTPException)
DEPOSITORS: Final = (USER, ACCOUNTS[4].address)
PAYEE: Final = Address(b"\x9a" * 20)
"""Withdrawals are paid to it on L1, and nothing else is."""

_DEPOSIT_SECONDS: Final = 0.15
_L2_SECONDS: Final = 0.02
_LASTING: Final = ("blockHash", "blockNumber", "transactionIndex", "status", "gasUsed", "type")
"""Fields of a receipt that never change; the batch is added later."""


class BridgeTraffic:
    """Random actions, and what was acknowledged of them."""

    def __init__(self, seed: int) -> None:
        self.deposits: list[str] = []
        self.receipts: dict[str, Json] = {}
        self.withdrawn: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        self.stopped = threading.Event()
        self._l1_random = random.Random(seed)
        self._l2_random = random.Random(seed + 1)
        self._claimed: set[str] = set()

    def use_l1(self, pair: Pair, token: Address) -> None:
        """Deposit until `stopped`, also while L1 comes and goes."""
        while not self.stopped.wait(self._l1_random.expovariate(1 / _DEPOSIT_SECONDS)):
            try:
                self.deposits.append(self._deposit(pair, token))
            except RpcError:
                self.counts["rejected by L1"] += 1
            except DISCONNECTED:
                self.counts["L1 was away"] += 1
        pair.close()

    def use_l2(self, pair: Pair, killed: threading.Event) -> None:
        """Perform one action after the other until the node is killed."""
        actions = [self._transfer] * 4 + [self._withdraw] * 2 + [self._message, self._claim]
        while not killed.wait(_L2_SECONDS):
            try:
                self._l2_random.choice(actions)(pair)
            except RpcError:
                # A reorg of L1 has removed the root for a claim.
                self.counts["claims rejected"] += 1
            except DISCONNECTED:
                self.counts["L2 requests cut off"] += 1
                return

    def check(self, pair: Pair, last: int | None = None) -> None:
        """Check that the transactions of L2, or the last ones, have the receipts that they had."""
        expected = list(self.receipts.items())[-(last or len(self.receipts)) :]
        calls = [("eth_getTransactionReceipt", [name]) for name, _ in expected]
        for first in range(0, len(calls), 200):
            found = pair.l2.batch(calls[first : first + 200])
            for (name, receipt), now in zip(expected[first : first + 200], found, strict=True):
                assert now is not None, f"{name} is lost"
                assert _lasting(now) == receipt, name

    def claim_rest(self, pair: Pair) -> None:
        """Claim every withdrawal once, and check that no second claim is paid."""
        for transaction in self.withdrawn:
            if not pair.is_claimed(transaction):
                pair.claim(transaction)
        eventually(lambda: all(pair.is_claimed(it) for it in self.withdrawn))
        for transaction in list(self.withdrawn)[-3:]:
            assert pair.l1.receipt(pair.claim(transaction))["status"] == "0x0"
        paid = int(pair.l1("eth_getBalance", str(PAYEE), "latest"), 16)
        assert paid == sum(self.withdrawn.values())

    def _deposit(self, pair: Pair, token: Address) -> str:
        if self._l1_random.random() < 0.2:
            return pair.deposit_token(token, self._l1_random.randrange(1, 100))
        sender = self._l1_random.choice(DEPOSITORS)
        return pair.deposit(self._l1_random.randrange(1, 10**6), sender=sender)

    def _transfer(self, pair: Pair) -> None:
        fields = {"from": str(USER), "to": str(RECEIVER), "value": "0x1"}
        self._note(pair, pair.l2("eth_sendTransaction", fields))

    def _message(self, pair: Pair) -> None:
        self._note(pair, pair.send_message(self._l2_random.randbytes(20)))

    def _withdraw(self, pair: Pair) -> None:
        value = self._l2_random.randrange(1, 10**6)
        sent = pair.withdraw(value, to=PAYEE)
        self.withdrawn[sent] = value
        self._note(pair, sent)

    def _note(self, pair: Pair, sent: str) -> None:
        receipt: dict[str, Any] = pair.l2.receipt(sent)
        assert receipt["status"] == "0x1", receipt
        self.receipts[sent] = _lasting(receipt)

    def _claim(self, pair: Pair) -> None:
        transaction = next((it for it in self.withdrawn if it not in self._claimed), None)
        if transaction is not None and pair.proof(transaction) is not None:
            # A reorg may remove it; `claim_rest` repeats it then.
            self._claimed.add(transaction)
            if not pair.is_claimed(transaction):
                pair.claim(transaction)
                self.counts["claims"] += 1


def _lasting(receipt: Json) -> Json:
    logs = [(it["address"], it["topics"], it["data"], it["logIndex"]) for it in receipt["logs"]]
    return {name: receipt[name] for name in _LASTING} | {"logs": logs}
