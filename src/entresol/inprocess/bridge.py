"""The bridge between the layers of a devnet: deposits, messages and withdrawals, by web3.py."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hexbytes import HexBytes
from web3 import Web3
from web3.logs import DISCARD

from entresol.errors import BridgeFailed
from entresol.inprocess.bridge_client import PATIENCE_SECONDS, POLL_SECONDS, address_of
from entresol.inprocess.interop.builder import BundleBuilder
from entresol.inprocess.interop.starters import BURN, router_data
from entresol.inprocess.settling_client import SettlingClient
from entresol.primitives import abi
from entresol.primitives.base_token import ETH_TOKEN
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Callable

    from web3.types import TxReceipt

    from entresol.inprocess.interop.bundle import SentBundle
    from entresol.inprocess.layer import DevnetLayer

GAS_PER_PUBDATA: Final = 800
_ALIAS_OFFSET: Final = 0x1111000000000000000000000000000000001111
"""The number that the ZK Stack adds to the address of a contract of L1 that sends to L2."""


class Deposited(NamedTuple):
    """A deposit that has arrived on L2."""

    l1: TxReceipt
    l2: TxReceipt

    def __repr__(self) -> str:
        outcome = "executed" if self.l2["status"] else "reverted"
        return f"<deposit, sent by {_place(self.l1)} of L1, {outcome} by {_place(self.l2)} of L2>"


class SentMessage(NamedTuple):
    """A message of an account on L2 to L1."""

    sender: str
    data: bytes
    receipt: TxReceipt
    """The receipt of its transaction on L2."""
    position: int = 0
    """Its position among the messages of that transaction."""

    def __repr__(self) -> str:
        return f"<message of {self.sender}, {len(self.data)} bytes, sent by {_place(self.receipt)} of L2>"


class MessageProof(NamedTuple):
    """The proof to L1 that a message was sent: arguments of `proveL2MessageInclusion`."""

    batch: int
    leaf: int
    """The position of the message in the message tree of the batch."""
    transaction_index: int
    """The position of its transaction in the batch."""
    path: tuple[HexBytes, ...]


class Bridge(SettlingClient):
    """Moves tokens and messages between two layers, and to other L2s; the node signs for the senders, which are addresses.

    Without a sender it is the first account. Each step returns once it has happened; a batch that a step needs on L1 is
    settled at once if the devnet settles on request (`settle=False`), and awaited otherwise. Fails: with
    `BridgeFailed`, or with what web3.py raises.
    """

    # From L1 to L2

    def deposit(
        self,
        value: int,
        *,
        to: str | None = None,
        sender: str | None = None,
        data: bytes = b"",
        token: str | None = None,
        gas: int | None = None,
    ) -> Deposited:
        """Pay on L1 for a transaction on L2 that has `value` and `data`; `to` is the sender by default.

        The value is in what pays for gas on L2. With a `token`, "ETH" or an address on L1, so much of it arrives at `to`
        instead. What is approved on L1 is exactly what is paid. `gas` is estimated by default.
        """
        sender = self._sender(sender)
        if token is not None and not self._is_base(token):
            if data:
                raise BridgeFailed("a deposit of a token that does not pay for gas has no data")
            return self._deposit_token(address_of(token), value, to or sender, sender, gas)
        to, chain = to or sender, self.l2.eth.chain_id
        if gas is None:
            call = {"from": sender, "to": to, "value": hex(value), "data": Web3.to_hex(data)}
            gas = int(self.rpc("zks_estimateGasL1ToL2", call), 16)
        price = self.l1.eth.gas_price
        paid = value + self._fee(price, gas)
        request: tuple[Any, ...] = (
            *(chain, paid, to, value, data, gas, GAS_PER_PUBDATA, [], sender),
        )
        call = self.bridgehub.functions.requestL2TransactionDirect(request)
        ether = self._pay(self.base_token_on_l1, paid, sender)
        return self._request(call, {"from": sender, "value": ether, "gasPrice": price})

    def _deposit_token(
        self, token: str, amount: int, to: str, sender: str, gas: int | None
    ) -> Deposited:
        asset = self._asset(token)
        if gas is None:
            gas = self._token_gas(token, asset, amount, to, sender)
        price, chain = self.l1.eth.gas_price, self.l2.eth.chain_id
        fee = self._fee(price, gas)
        ether = self._pay(self.base_token_on_l1, fee, sender) + self._pay(token, amount, sender)
        # The second bridge is paid in ether alone: a token is collected by its allowance.
        second = amount if _is_ether(token) else 0
        data = router_data(asset, amount, Address.parse(to), Address.parse(token))
        router = self.l1_asset_router.address
        request = (chain, fee, 0, gas, GAS_PER_PUBDATA, sender, router, second, data)
        call = self.bridgehub.functions.requestL2TransactionTwoBridges(request)
        return self._request(call, {"from": sender, "value": ether, "gasPrice": price})

    def _token_gas(self, token: str, asset: bytes, amount: int, to: str, sender: str) -> int:
        origin = self.l1_vault.functions.originChainId(asset).call() or self.l1.eth.chain_id
        metadata = self.l1_vault.functions.getERC20Getters(token, origin).call()
        owners = (Address.parse(given) for given in (sender, to, token))
        mint = abi.encode("(address,address,address,uint256,bytes)", (*owners, amount, metadata))
        data = self.l2_asset_router.encode_abi(
            "finalizeDeposit(uint256,bytes32,bytes)", [self.l1.eth.chain_id, asset, mint]
        )
        alias = (int(self.l1_asset_router.address, 16) + _ALIAS_OFFSET) % 2**160
        call = {"from": f"0x{alias:040x}", "to": self.l2_asset_router.address, "data": data}
        return int(self.rpc("zks_estimateGasL1ToL2", call), 16)

    def _fee(self, price: int, gas: int) -> int:
        chain = self.l2.eth.chain_id
        cost = self.bridgehub.functions.l2TransactionBaseCost(chain, price, gas, GAS_PER_PUBDATA)
        fee: int = cost.call()
        return fee

    def _pay(self, token: str, amount: int, sender: str) -> int:
        """Return the ether to send for an amount of a token; one that is not ether is approved instead."""
        if _is_ether(token):
            return amount
        contract = self.l1_token(token)
        balance = contract.functions.balanceOf(sender).call()
        if balance < amount:
            raise BridgeFailed(
                f"{sender} has {balance} of the token {token} on L1, and the deposit takes {amount}"
            )
        call = contract.functions.approve(self.l1_asset_router.address, amount)
        self._send(self.l1, call, {"from": sender})
        return 0

    def _request(self, call: Any, transaction: dict[str, Any]) -> Deposited:
        paid = self._send(self.l1, call, transaction)
        (event,) = self.main.events.NewPriorityRequest().process_receipt(paid, DISCARD)
        return Deposited(paid, self.receipt_of(self.l2, event["args"]["txHash"]))

    def recover(self, deposit: Deposited) -> TxReceipt:
        """Have L1 pay back a token whose deposit failed on L2, and return the receipt there.

        What pays for gas is not such a token: the L2 has it, and gives it to the refund recipient, who is the sender.
        """
        if deposit.l2["status"]:
            raise BridgeFailed("the deposit has not failed")
        found = self.l1.eth.get_transaction(deposit.l1["transactionHash"])
        function, given = self.bridgehub.decode_function_input(found["input"])
        if function.fn_name != "requestL2TransactionTwoBridges":
            problem = "what pays for gas is on L2, where the refund recipient has it"
            raise BridgeFailed(f"the deposit holds no token that L1 could pay back: {problem}")
        (request,) = given.values()
        asset, burn = abi.decode("(bytes32,bytes)", bytes(request["secondBridgeCalldata"])[1:])
        self.settle(deposit.l2["blockNumber"])
        proof = self._proof(deposit.l2)
        call = self.nullifier.functions.bridgeRecoverFailedTransfer(
            *(self.l2.eth.chain_id, found["from"], asset, burn, deposit.l2["transactionHash"]),
            *(proof.batch, proof.leaf, proof.transaction_index, proof.path),
        )
        return self._send(self.l1, call, {"from": found["from"]})

    # From L2 to L1

    def send_message(self, data: bytes, *, sender: str | None = None) -> SentMessage:
        """Send a message from an account on L2."""
        sender = self._sender(sender)
        call = self.messenger.functions.sendToL1(data)
        return SentMessage(sender, data, self._send(self.l2, call, {"from": sender}))

    def prove(self, message: SentMessage) -> MessageProof:
        """Return the proof of a message, once L1 has executed its batch."""
        self.settle(message.receipt["blockNumber"])
        return self._proof(message.receipt, message.position)

    def verify(self, message: SentMessage, proof: MessageProof) -> bool:
        """Return whether the contract on L1 accepts the proof."""
        claim = (proof.transaction_index, message.sender, message.data)
        function = self.main.functions.proveL2MessageInclusion
        accepted: bool = function(proof.batch, proof.leaf, claim, proof.path).call()
        return accepted

    def withdraw(
        self,
        value: int,
        *,
        to: str | None = None,
        sender: str | None = None,
        token: str | None = None,
    ) -> SentMessage:
        """Burn what pays for gas on L2, or a `token`, "ETH" or an address on L1.

        L1 pays it to `to`, the sender by default, when the withdrawal is finalized.
        """
        sender = self._sender(sender)
        if token is None or self._is_base(token):
            burner, call = self.base_token, self.base_token.functions.withdraw(to or sender)
        else:
            asset, there = self._asset(token), Address.parse(self.l2_token(token).address)
            burn = abi.encode(BURN, (value, Address.parse(to or sender), there))
            burner = self.l2_asset_router
            call, value = burner.functions["withdraw(bytes32,bytes)"](asset, burn), 0
        receipt = self._send(self.l2, call, {"from": sender, "value": value})
        (event,) = self.messenger.events.L1MessageSent().process_receipt(receipt, DISCARD)
        return SentMessage(burner.address, bytes(event["args"]["message"]), receipt)

    def finalize(self, withdrawal: SentMessage, *, sender: str | None = None) -> TxReceipt:
        """Have L1 pay a withdrawal, and return the receipt there; `sender` only pays for the gas."""
        proof = self.prove(withdrawal)
        claim = (
            *(self.l2.eth.chain_id, proof.batch, proof.leaf, withdrawal.sender),
            *(proof.transaction_index, withdrawal.data, proof.path),
        )
        call = self.nullifier.functions.finalizeDeposit(claim)
        return self._send(self.l1, call, {"from": self._sender(sender)})

    # From one L2 to another

    def send(  # noqa: PLR0913 - independent options
        self,
        value: int = 0,
        *,
        chain: Bridge | DevnetLayer | Web3,
        to: str | None = None,
        sender: str | None = None,
        data: Any = b"",
        token: str | None = None,
        executor: str | None = None,
        unbundler: str | None = None,
    ) -> SentBundle:
        """Send something to another L2, `chain`, and return it once a block here has it; `to` is the sender by default.

        Without data it is a payment in what pays for gas here, or of a `token`: "ETH", or its address on this L2. With
        data it is a call of the contract `to`, and the value is in what pays for gas there. Only `executor` may execute
        it, anybody by default, and only `unbundler` may cancel it, the sender by default.
        """
        bundle = self.bundle(chain, sender=sender, executor=executor, unbundler=unbundler)
        if not data:
            paid = (
                bundle.value(value, to=to) if token is None else bundle.token(token, value, to=to)
            )
            return paid.send()
        if to is None or token is not None:
            problem = "has no contract `to`" if to is None else "has a value, and no token"
            raise BridgeFailed(f"a call {problem}; `bundle` sends a token and a call together")
        return bundle.call(to, data, value=value).send()

    def bundle(
        self,
        chain: Bridge | DevnetLayer | Web3,
        *,
        sender: str | None = None,
        executor: str | None = None,
        unbundler: str | None = None,
    ) -> BundleBuilder:
        """Return a bundle for another L2 to add calls, values and tokens to, which are executed together."""
        return BundleBuilder(
            self,
            self.beside(chain),
            sender=self._sender(sender),
            executor=executor,
            unbundler=unbundler,
        )

    def beside(self, chain: Bridge | DevnetLayer | Web3) -> Bridge:
        """Return the bridge of another L2 on the same L1, by its client or by its layer of the devnet."""
        if isinstance(chain, Bridge):
            return chain
        client = chain if isinstance(chain, Web3) else chain.w3
        return Bridge(self.l1, client, settles_by_itself=self._settles_by_itself)

    def _proof(self, receipt: TxReceipt, index: int = 0) -> MessageProof:
        transaction = receipt["transactionHash"].to_0x_hex()
        found = self._until(
            lambda: self.rpc("zks_getL2ToL1LogProof", transaction, index),
            f"there is no proof of a message of {transaction}",
        )
        position = self.rpc("eth_getTransactionReceipt", transaction)["l1BatchTxIndex"]
        path = tuple(HexBytes(word) for word in found["proof"])
        return MessageProof(found["batchNumber"], found["id"], int(position, 16), path)

    @staticmethod
    def _until(condition: Callable[[], Any], problem: str) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := condition()) is None:
            if time.monotonic() > deadline:
                raise BridgeFailed(problem)
            time.sleep(POLL_SECONDS)
        return found


def _is_ether(token: str) -> bool:
    return Address.parse(token) == ETH_TOKEN


def _place(receipt: TxReceipt) -> str:
    return f"transaction {receipt['transactionHash'].to_0x_hex()[:10]}… in block {receipt['blockNumber']}"
