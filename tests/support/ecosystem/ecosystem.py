"""The users of several chains, who move every asset between them and L1 at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from entresol.primitives.base_token import ETH_TOKEN
from entresol.primitives.values import Address
from tests.support.ecosystem.residents import NOBODY, FailedDeposit, Resident
from tests.support.rollup.pair import Pair

OnTheWay: TypeAlias = tuple[list[tuple[int, str]], list[tuple[int, FailedDeposit]]]


class Ecosystem:
    """The users of all chains, and what is on its way between them and L1."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.residents: list[Resident] = []
        self.tokens: list[Address] = []
        self.stopped: set[int] = set()
        """The chains that nobody uses at the moment."""
        self._withdrawals: list[tuple[int, str]] = []
        self._failed: list[tuple[int, FailedDeposit]] = []
        self._snapshot: tuple[str, OnTheWay] | None = None

    @property
    def on_the_way(self) -> OnTheWay:
        """Copies of the withdrawals to be claimed and of the failed deposits to be recovered, for `go_back`."""
        return list(self._withdrawals), list(self._failed)

    def go_back(self, on_the_way: OnTheWay) -> None:
        """Know only of these, since the chains were reverted."""
        self._withdrawals, self._failed = on_the_way

    def forget_lost(self) -> None:
        """Know only of what the chains still have, since blocks of theirs are gone."""

        def has(place: int, transaction: str) -> bool:
            pair = self.residents[place].pair
            return pair.l2("eth_getTransactionReceipt", transaction) is not None

        self._withdrawals = [withdrawal for withdrawal in self._withdrawals if has(*withdrawal)]
        self._failed = [client for client in self._failed if has(client[0], client[1].transaction)]

    def meet(self, pairs: Sequence[Pair]) -> None:
        """Use the chains of a node that has just started; snapshots do not last."""
        self._snapshot = None
        self.residents = [Resident(pair) for pair in pairs]
        if not self.tokens:
            first = self.residents[0]
            others = [
                resident.base_token
                for resident in self.residents
                if resident.base_token != ETH_TOKEN
            ]
            self.tokens = [ETH_TOKEN, *others, first.pair.create_token(10**30)]
            for token in self.tokens[1:]:
                first.approve(token)

    def act(self) -> None:
        actions: list[Callable[[], None]] = [
            *[self.deposit] * 4, *[self.withdraw] * 4, *[self.claim] * 3, *[self.fail] * 2,
            *[self.recover] * 2, self.set_ratio, self._take_snapshot, self._revert,
        ]  # fmt: skip
        self.random.choice(actions)()

    def deposit(self) -> None:
        resident, token = self._any()
        amount = self.random.randrange(1, 10**6)
        before = resident.balance(token)
        requested = resident.deposit(token, amount)
        assert resident.pair.l2.receipt(requested)["status"] == "0x1"
        assert resident.balance(token) >= before + amount

    def fail(self) -> None:
        resident, token = self._any()
        if token == resident.base_token:
            return
        amount = self.random.randrange(1, 10**6)
        requested = resident.deposit(token, amount, NOBODY)
        assert resident.pair.l2.receipt(requested)["status"] == "0x0"
        failed = FailedDeposit(token, amount, NOBODY, requested)
        self._failed.append((self.residents.index(resident), failed))

    def withdraw(self) -> None:
        resident, token = self._any()
        most = min(resident.balance(token), 10**6)
        if most > 0:
            sent = resident.withdraw(token, self.random.randrange(1, most + 1))
            self._withdrawals.append((self.residents.index(resident), sent))

    def claim(self) -> None:
        possible = [
            withdrawal for withdrawal in self._withdrawals if withdrawal[0] not in self.stopped
        ]
        if possible:
            place, sent = chosen = self.random.choice(possible)
            self._withdrawals.remove(chosen)
            self.residents[place].claim(sent)

    def recover(self) -> None:
        possible = [client for client in self._failed if client[0] not in self.stopped]
        if possible:
            place, failed = chosen = self.random.choice(possible)
            self._failed.remove(chosen)
            self.residents[place].recover(failed)

    def set_ratio(self) -> None:
        """Change what ether costs in a base token."""
        ratio = f"{self.random.randrange(1, 5000)}/{self.random.randrange(1, 9)}"
        paid = [resident for resident in self.residents if resident.base_token != ETH_TOKEN]
        self.random.choice(paid).pair.l2("entresol_setBaseTokenRatio", ratio)

    def _take_snapshot(self) -> None:
        taken = self.random.choice(self.residents).pair.l1("evm_snapshot")
        self._snapshot = (taken, self.on_the_way)

    def _revert(self) -> None:
        if self._snapshot is not None:
            taken, on_the_way = self._snapshot
            self.go_back(on_the_way)
            self._snapshot = None
            assert self.random.choice(self.residents).pair.l2("evm_revert", taken)

    def _any(self) -> tuple[Resident, Address]:
        running = [it for at, it in enumerate(self.residents) if at not in self.stopped]
        return self.random.choice(running), self.random.choice(self.tokens)
