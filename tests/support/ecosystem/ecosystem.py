"""The users of several chains, who move every asset between them and L1 at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from eth_abi import abi

from entresol.primitives.base_token import ETH_TOKEN, asset_id
from entresol.primitives.values import Address
from tests.support.contracts.engine import Contract, find
from tests.support.rollup.pair import GAS_LIMIT, GAS_PER_PUBDATA, L1_CHAIN_ID, USER, Pair

UNLIMITED = 2**256 - 1
NOBODY = Address.zero()
"""A receiver that L1 takes, and no token on L2."""


class FailedDeposit(NamedTuple):
    """A deposit of a token that failed on L2, with which its amount is claimed back."""

    token: Address
    amount: int
    receiver: Address
    transaction: str


class Resident:
    """The user of one L2, who may deposit, withdraw and claim every asset of L1."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        address = pair.call_l1(pair.bridgehub, "baseToken", pair.chain_id)
        self.base_token = Address.parse(address)

    def approve(self, token: Address) -> None:
        contract = Contract(token, find("TestERC20"))
        self._done(
            self.pair.send_l1(contract, "approve", self.pair.asset_router.address, UNLIMITED)
        )

    def deposit(self, token: Address, amount: int, receiver: Address = USER) -> str:
        gas = GAS_LIMIT
        mint = self._price() * gas
        if token == self.base_token:
            value = mint + amount if token == ETH_TOKEN else 0
            asked: tuple[Any, ...] = (
                *(self.pair.chain_id, mint + amount, receiver, amount, b"", gas, GAS_PER_PUBDATA),
                *([], USER),
            )
            return self._request("requestL2TransactionDirect", asked, value)
        bridged = amount if token == ETH_TOKEN else 0
        asset, inner = asset_id(L1_CHAIN_ID, token), _burn(amount, receiver, token)
        data = b"\1" + abi.encode(["bytes32", "bytes"], [asset, inner])
        asked = (
            *(self.pair.chain_id, mint, 0, gas, GAS_PER_PUBDATA, USER),
            *(self.pair.asset_router.address, bridged, data),
        )
        value = bridged + (mint if self.base_token == ETH_TOKEN else 0)
        return self._request("requestL2TransactionTwoBridges", asked, value)

    def withdraw(self, token: Address, amount: int) -> str:
        is_base = token == self.base_token
        sent = self.pair.withdraw(amount) if is_base else self.pair.withdraw_token(token, amount)
        assert self.pair.l2.receipt(sent)["status"] == "0x1"
        return sent

    def claim(self, withdrawal: str) -> None:
        self._done(self.pair.claim(withdrawal))

    def recover(self, failed: FailedDeposit) -> None:
        proof = self.pair.proven(failed.transaction)
        receipt = self.pair.l2.receipt(failed.transaction)
        asked = (
            *(self.pair.chain_id, USER, asset_id(L1_CHAIN_ID, failed.token)),
            *(
                _burn(failed.amount, failed.receiver, failed.token),
                bytes.fromhex(failed.transaction[2:]),
            ),
            *(proof["batchNumber"], proof["id"], int(receipt["l1BatchTxIndex"], 16)),
            [bytes.fromhex(word[2:]) for word in proof["proof"]],
        )
        types = "uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[]"
        function = f"bridgeRecoverFailedTransfer({types})"
        self._done(self.pair.send_l1(self.pair.asset_router, function, *asked))

    def balance(self, token: Address) -> int:
        if token == self.base_token:
            return int(self.pair.l2("eth_getBalance", str(USER), "latest"), 16)
        there = self.pair.token_on_l2(token)
        if not any(there):
            return 0
        return int(self.pair.call_l2(Contract(there, find("TestERC20")), "balanceOf", USER))

    def _price(self) -> int:
        """Return more than L2 gas costs at any gas price that L1 may have by then."""
        asked = (self.pair.chain_id, 10**12, 1, GAS_PER_PUBDATA)
        return int(self.pair.call_l1(self.pair.bridgehub, "l2TransactionBaseCost", *asked))

    def _request(self, function: str, asked: tuple[Any, ...], value: int) -> str:
        sent = self.pair.send_l1(self.pair.bridgehub, function, asked, value=value)
        (requested,) = self.pair.priority_hashes(sent)
        self.pair.l2.receipt(requested)
        return requested

    def _done(self, sent: str) -> None:
        assert self.pair.l1.receipt(sent)["status"] == "0x1"


def _burn(amount: int, receiver: Address, token: Address) -> bytes:
    return abi.encode(["uint256", "address", "address"], [amount, receiver, token])


OnTheWay: TypeAlias = tuple[list[tuple[int, str]], list[tuple[int, FailedDeposit]]]


class Ecosystem:
    """The users of all chains, and what is on its way between them and L1."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.residents: list[Resident] = []
        self.tokens: list[Address] = []
        self.stopped: set[int] = set()
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
