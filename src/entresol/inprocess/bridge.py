"""The bridge between the layers of a devnet: deposits, messages and withdrawals, by web3.py."""

from __future__ import annotations

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hexbytes import HexBytes
from web3 import Web3
from web3.logs import DISCARD

from entresol.contracts import artifact
from entresol.errors import BridgeFailed
from entresol.primitives.batches import SettlementStep
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.rollup.system_contracts import BASE_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from web3.types import TxReceipt

GAS_PER_PUBDATA: Final = 800
PATIENCE_SECONDS: Final = 120.0
"""Far longer than a devnet takes for anything, also on a busy machine."""
POLL_SECONDS: Final = 0.005

_SETTLE: Final = {
    SettlementStep.COMMIT: "anvil_zks_commitBatch",
    SettlementStep.PROVE: "anvil_zks_proveBatch",
    SettlementStep.EXECUTE: "anvil_zks_executeBatch",
}


class Deposited(NamedTuple):
    """A deposit that has arrived on L2."""

    l1: TxReceipt
    l2: TxReceipt


class SentMessage(NamedTuple):
    """A message of an account on L2 to L1."""

    sender: str
    data: bytes
    receipt: TxReceipt
    """Of its transaction on L2."""


class MessageProof(NamedTuple):
    """What shows to L1 that a message was sent: arguments of `proveL2MessageInclusion`."""

    batch: int
    leaf: int
    """The position of the message in the message tree of the batch."""
    transaction_index: int
    """The position of its transaction in the batch."""
    path: tuple[HexBytes, ...]


class Bridge:
    """Moves ether and messages between two layers; the node signs for the senders, which are addresses.

    Without a sender it is the first account. Each step returns once it has happened; a batch that a step needs on L1
    is settled at once if the devnet settles on request (`settle=False`), and awaited otherwise.
    Remembers: nothing. Fails: with `BridgeFailed`, or with what web3.py raises.
    """

    def __init__(self, l1: Web3, l2: Web3, *, settles_by_itself: bool = True) -> None:
        self.l1 = l1
        self.l2 = l2
        self._settles_by_itself = settles_by_itself

    # From L1 to L2

    def deposit(
        self, value: int, *, to: str | None = None, sender: str | None = None, data: bytes = b""
    ) -> Deposited:
        """Pay on L1 for a transaction on L2 that has `value` and `data`; `to` is the sender by default."""
        sender = self._sender(sender)
        to, chain, price = to or sender, self.l2.eth.chain_id, self.l1.eth.gas_price
        call = {"from": sender, "to": to, "value": hex(value), "data": Web3.to_hex(data)}
        gas = int(self._rpc("zks_estimateGasL1ToL2", call), 16)
        cost = self.bridgehub.functions.l2TransactionBaseCost(chain, price, gas, GAS_PER_PUBDATA)
        fee = cost.call()
        request: tuple[Any, ...] = (
            chain,
            value + fee,
            to,
            value,
            data,
            gas,
            GAS_PER_PUBDATA,
            [],
            sender,
        )
        paid = self._send(
            self.l1,
            self.bridgehub.functions.requestL2TransactionDirect(request),
            {"from": sender, "value": value + fee, "gasPrice": price},
        )
        (event,) = self.main.events.NewPriorityRequest().process_receipt(paid, DISCARD)
        return Deposited(paid, self._receipt(self.l2, event["args"]["txHash"]))

    # From L2 to L1

    def send_message(self, data: bytes, *, sender: str | None = None) -> SentMessage:
        """Send a message from an account on L2."""
        sender = self._sender(sender)
        call = self.messenger.functions.sendToL1(data)
        return SentMessage(sender, data, self._send(self.l2, call, {"from": sender}))

    def prove(self, message: SentMessage) -> MessageProof:
        """Return the proof of a message, once L1 has executed its batch."""
        self.settle(message.receipt["blockNumber"])
        return self._proof(message.receipt)

    def verify(self, message: SentMessage, proof: MessageProof) -> bool:
        """Return whether the contract on L1 accepts the proof."""
        claim = (proof.transaction_index, message.sender, message.data)
        function = self.main.functions.proveL2MessageInclusion
        accepted: bool = function(proof.batch, proof.leaf, claim, proof.path).call()
        return accepted

    def withdraw(
        self, value: int, *, to: str | None = None, sender: str | None = None
    ) -> SentMessage:
        """Burn ether on L2; L1 pays it to `to`, the sender by default, when the withdrawal is finalized."""
        sender = self._sender(sender)
        call = self.base_token.functions.withdraw(to or sender)
        receipt = self._send(self.l2, call, {"from": sender, "value": value})
        (event,) = self.messenger.events.L1MessageSent().process_receipt(receipt, DISCARD)
        return SentMessage(self.base_token.address, bytes(event["args"]["message"]), receipt)

    def finalize(self, withdrawal: SentMessage, *, sender: str | None = None) -> TxReceipt:
        """Have L1 pay a withdrawal, and return the receipt there; `sender` only pays for the gas."""
        proof = self.prove(withdrawal)
        claim = (
            *(self.l2.eth.chain_id, proof.batch, proof.leaf, withdrawal.sender),
            *(proof.transaction_index, withdrawal.data, proof.path),
        )
        call = self.nullifier.functions.finalizeDeposit(claim)
        return self._send(self.l1, call, {"from": self._sender(sender)})

    # Settlement

    def settle(self, block: int | None = None) -> None:
        """Return once L1 has executed the batch of a block of L2; by default of the last one."""
        last = self.l2.eth.block_number
        wanted = last if block is None else block
        if wanted > last:
            raise BridgeFailed(f"the L2 has no block {wanted} to settle: the last one is {last}")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (finalized := self.l2.eth.get_block("finalized")["number"]) < wanted:
            if not self._settles_by_itself:
                self._settle_next()
                if self.l2.eth.get_block("finalized")["number"] == finalized:
                    raise BridgeFailed(f"settling a batch has not finalized block {wanted}")
            elif time.monotonic() > deadline:
                raise BridgeFailed(f"block {wanted} is not finalized, only {finalized}")
            else:
                time.sleep(POLL_SECONDS)

    def _settle_next(self) -> None:
        """Take the steps that are due of the first batch that is not executed."""
        blocks = self.l2.eth.get_block("finalized")["number"]
        details = self._rpc("zks_getBlockDetails", blocks + 1)
        batch = details["l1BatchNumber"]
        found = self._rpc("zks_getL1BatchDetails", batch) or {}
        for step, method in _SETTLE.items():
            if found.get(f"{step.name.lower()}TxHash") is None:
                self._rpc(method, hex(batch))

    def _proof(self, receipt: TxReceipt) -> MessageProof:
        transaction = receipt["transactionHash"].to_0x_hex()
        found = self._until(
            lambda: self._rpc("zks_getL2ToL1LogProof", transaction),
            f"there is no proof of a message of {transaction}",
        )
        position = self._rpc("eth_getTransactionReceipt", transaction)["l1BatchTxIndex"]
        path = tuple(HexBytes(it) for it in found["proof"])
        return MessageProof(found["batchNumber"], found["id"], int(position, 16), path)

    # Contracts

    @cached_property
    def bridgehub(self) -> Any:
        """The Bridgehub on L1."""
        return self._contract(self.l1, "Bridgehub", self._rpc("zks_getBridgehubContract"))

    @cached_property
    def main(self) -> Any:
        """The contract of the chain on L1."""
        return self._contract(self.l1, "ZKChain", self._rpc("zks_getMainContract"))

    @cached_property
    def nullifier(self) -> Any:
        """The contract on L1 that pays withdrawals."""
        address = self._rpc("zks_getBridgeContracts")["l1Nullifier"]
        return self._contract(self.l1, "L1Nullifier", address)

    @cached_property
    def messenger(self) -> Any:
        """The contract on L2 that sends messages."""
        return self._contract(self.l2, "L1Messenger", str(L1_MESSENGER))

    @cached_property
    def base_token(self) -> Any:
        """The contract on L2 that burns ether."""
        return self._contract(self.l2, "L2BaseToken", str(BASE_TOKEN))

    @staticmethod
    def _contract(layer: Web3, name: str, address: str) -> Any:
        return layer.eth.contract(Web3.to_checksum_address(address), abi=artifact(name).abi)

    def _sender(self, sender: str | None) -> str:
        return sender or self.l2.eth.accounts[0]

    def _rpc(self, method: str, *params: Any) -> Any:
        return self.l2.manager.request_blocking(method, params)  # type: ignore[arg-type]

    def _send(self, layer: Web3, call: Any, transaction: dict[str, Any]) -> TxReceipt:
        receipt = self._receipt(layer, call.transact(transaction))
        if not receipt["status"]:
            raise BridgeFailed(
                f"{call.fn_name} has reverted: {receipt['transactionHash'].to_0x_hex()}"
            )
        return receipt

    @staticmethod
    def _receipt(layer: Web3, transaction: HexBytes) -> TxReceipt:
        return layer.eth.wait_for_transaction_receipt(
            transaction, timeout=PATIENCE_SECONDS, poll_latency=POLL_SECONDS
        )

    @staticmethod
    def _until(condition: Callable[[], Any], problem: str) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := condition()) is None:
            if time.monotonic() > deadline:
                raise BridgeFailed(problem)
            time.sleep(POLL_SECONDS)
        return found
