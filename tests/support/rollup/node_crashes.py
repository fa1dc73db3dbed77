"""Random traffic on both layers, and nodes that are killed during it."""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from entresol.node.opening.development_keys import OPERATOR
from entresol.primitives.values import Address
from tests.support.node_process import running_node
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.pair import Pair

DISCONNECTED = (OSError, http.client.HTTPException)


class Traffic:
    """Random actions of users, and what the node acknowledged of them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.deposits: list[str] = []
        self.sent: list[str] = []
        self.proofs: dict[str, dict[str, Any]] = {}
        self.claimed: set[str] = set()
        self.token: Address | None = None

    def go_on(self, pair: Pair) -> None:
        """Perform one action after the other until the node is killed."""
        actions = [self._deposit] * 4 + [self._send] * 4 + [self._prove] * 2 + [self._claim]
        try:
            while True:
                self._random.choice(actions)(pair)
        except DISCONNECTED:
            return

    def only_deposit(self, pair: Pair) -> None:
        try:
            while True:
                self._deposit(pair)
        except DISCONNECTED:
            return

    def check(self, pair: Pair) -> None:
        for deposit in self.deposits:
            assert pair.arrived(deposit)["status"] == "0x1"
        for transaction in self.sent:
            assert pair.l2.receipt(transaction)["status"] == "0x1"
        for transaction, proof in self.proofs.items():
            assert pair.proof(transaction) == proof

    def _deposit(self, pair: Pair) -> None:
        amount = self._random.randrange(1, 1000)
        if self.token is not None and self._random.random() < 0.3:
            sent = pair.deposit_token(self.token, amount)
        else:
            sent = pair.deposit(amount)
        pair.l1.receipt(sent)
        self.deposits.append(sent)

    def _send(self, pair: Pair) -> None:
        kind = self._random.random()
        if kind < 0.3:
            sent = pair.withdraw(self._random.randrange(1, 10**6))
        elif kind < 0.5 and self.token is not None and any(pair.token_on_l2(self.token)):
            sent = pair.withdraw_token(self.token, 1)
        else:
            sent = pair.send_message(self._random.randbytes(20))
        self.sent.append(sent)

    def _prove(self, pair: Pair) -> None:
        if self.sent:
            transaction = self._random.choice(self.sent)
            proof = pair.proof(transaction)
            if proof is not None:
                assert self.proofs.setdefault(transaction, proof) == proof

    def _claim(self, pair: Pair) -> None:
        ready = [
            proof for proof in self.proofs if proof not in self.claimed and self._pays(pair, proof)
        ]
        if ready:
            # A claim may have succeeded without its response.
            if not pair.is_claimed(ready[0]):
                pair.l1.receipt(pair.claim(ready[0]))
            self.claimed.add(ready[0])

    def _pays(self, pair: Pair, transaction: str) -> bool:
        # A withdrawal has an event of its own beside the messenger's; a plain message has none.
        return len(pair.l2.receipt(transaction)["logs"]) > 1


class CrashingNode:
    """A node whose directory outlives it."""

    def __init__(self, path: Path, *arguments: str) -> None:
        self.data = path / "data"
        self._info = path / "info.json"
        self._arguments = arguments

    def live(self, visit: Callable[[Pair], None], seconds: float | None = None) -> None:
        """Start it, let `visit` use it, and kill it after some seconds or when the visit is over."""
        self._info.unlink(missing_ok=True)
        arguments = ("--data-dir", str(self.data), "--config-out", str(self._info), "--silent")
        with running_node(*arguments, *self._arguments, info=self._info) as node:
            pair = Pair.connect(self._info)
            killer = None if seconds is None else threading.Timer(seconds, node.process.kill)
            if killer is not None:
                killer.start()
            try:
                visit(pair)
            finally:
                if killer is not None:
                    killer.cancel()
                pair.close()


def kill_again_and_again(
    node: CrashingNode,
    visit: Callable[[Pair], None],
    lives: Iterable[float],
    enough: Callable[[], object],
) -> None:
    """Kill a node after each of these times; on a slow machine also after longer ones, until `enough` was done."""
    for seconds in lives:
        node.live(visit, seconds)
    seconds = 1.0
    while not enough():
        assert seconds < PATIENCE_SECONDS
        node.live(visit, seconds)
        seconds *= 2


def operator_nonce(pair: Pair, operator: Address = OPERATOR.address) -> int:
    return int(pair.l1("eth_getTransactionCount", str(operator), "latest"), 16)
