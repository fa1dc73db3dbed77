"""Users of any asset between L1 and an L2, whatever pays for gas there."""

from __future__ import annotations

from typing import Any, NamedTuple

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
    """On L2."""


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
        """Deposit an asset by its route, and return the transaction on L2."""
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
        """Withdraw an asset, and return the transaction on L2."""
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
