"""The operator: the L1 account that signs the node's own transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import address_of, public_key
from entresol.errors import LayerOneRejected, OperatorOutOfFunds
from entresol.l1.fee_limits import FeeLimits, TxFees
from entresol.primitives.transactions import FeeMarketTransaction, decode, sign
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.l1.layer_one import LayerOne

# The gas limit relative to the estimate: the state may change until the transaction is included.
GAS_LIMIT_PERCENT: Final = 130

_ALREADY_SENT: Final = ("underpriced", "nonce too low", "already known", "already imported")


class SignedTransaction(msgspec.Struct, frozen=True):
    """A signed transaction: its nonce, hash and raw bytes."""

    nonce: int
    hash: Hash32
    raw: bytes

    @property
    def payload(self) -> FeeMarketTransaction:
        """What was signed."""
        payload = decode(self.raw).payload
        assert isinstance(payload, FeeMarketTransaction)
        return payload

    @property
    def fees(self) -> TxFees:
        """Its fee cap and tip."""
        payload = self.payload
        return TxFees(payload.max_fee_per_gas, payload.max_priority_fee_per_gas)

    @property
    def max_cost(self) -> int:
        """The balance that L1 requires of the sender, in wei."""
        payload = self.payload
        return payload.gas_limit * payload.max_fee_per_gas + payload.value


class ReplacementLimited(msgspec.Struct, frozen=True):
    """Why no replacement was signed: the limit that no valid one fits in."""

    limit: str


class Operator:
    """Signs and sends transactions of one account, one at a time, within limits of their fees.

    Remembers: nothing; the nonce is the account's on L1, since it has no pending transaction. A caller
    that must know after a crash what was sent persists the `SignedTransaction` before sending it.
    """

    def __init__(
        self,
        l1: LayerOne,
        secret: bytes,
        limits: FeeLimits | None = None,
        name: str = "the operator",
    ) -> None:
        self.l1 = l1
        self._name = name
        self._secret = secret
        self.limits = limits or FeeLimits()
        self.address = Address(address_of(public_key(secret)))

    async def balance(self) -> int:
        """Return the balance of the account in wei."""
        return await self.l1.balance(self.address)

    async def sign_call(
        self, to: Address | None, data: bytes, *, block: Hash32 | None = None
    ) -> SignedTransaction:
        """Sign a call, or a creation if `to` is None, to follow the latest block or another one.

        Raises `ExecutionFailed` if it would revert, `L1FeeTooHigh` or `OperatorOutOfFunds` if the fees of
        L1 are too high.
        """
        gas = await self.l1.estimate_gas(self.address, to, data, block=block)
        gas_limit = gas * GAS_LIMIT_PERCENT // 100
        fees = await self._affordable_fees(gas_limit)
        payload = FeeMarketTransaction(
            chain_id=await self.l1.chain_id(),
            nonce=await self.l1.nonce(self.address, block),
            max_priority_fee_per_gas=fees.tip,
            max_fee_per_gas=fees.max_fee,
            gas_limit=gas_limit,
            to=to,
            value=0,
            data=data,
        )
        return self._sign(payload)

    async def sign_again(self, unsendable: SignedTransaction) -> SignedTransaction:
        """Sign a transaction that L1 cannot have, since it exceeds limit or balance, with current fees."""
        payload = unsendable.payload
        return self._sign_with(payload, await self._affordable_fees(payload.gas_limit))

    async def sign_replacement(
        self, stuck: SignedTransaction
    ) -> SignedTransaction | ReplacementLimited:
        """Sign the same transaction with a higher fee, or return what limits it."""
        payload, fees = stuck.payload, await self.l1.fees()
        ceiling = self.limits.ceiling(fees, await self.balance() // payload.gas_limit)
        replacement = self.limits.replacement(stuck.fees, fees, ceiling)
        if replacement is None:
            return ReplacementLimited(ceiling.limit)
        return self._sign_with(payload, replacement)

    async def send(self, signed: SignedTransaction) -> None:
        """Send a transaction; succeeds if L1 has it, or another one with its nonce."""
        try:
            await self.l1.send(signed.raw)
        except LayerOneRejected as error:
            if not any(text in error.message.lower() for text in _ALREADY_SENT):
                raise

    async def _affordable_fees(self, gas_limit: int) -> TxFees:
        """Return the fees of a new transaction, with a lower fee cap if the balance requires it."""
        current, balance = await self.l1.fees(), await self.balance()
        fees = self.limits.first(current)
        max_fee = min(fees.max_fee, balance // gas_limit)
        if max_fee < min(fees.max_fee, current.gas_price):
            needed = gas_limit * current.gas_price
            raise OperatorOutOfFunds(
                f"{self._name}, {self.address.checksummed()},", balance, needed
            )
        return TxFees(max_fee, min(fees.tip, max_fee))

    def _sign_with(self, payload: FeeMarketTransaction, fees: TxFees) -> SignedTransaction:
        return self._sign(
            msgspec.structs.replace(
                payload, max_fee_per_gas=fees.max_fee, max_priority_fee_per_gas=fees.tip
            )
        )

    def _sign(self, payload: FeeMarketTransaction) -> SignedTransaction:
        transaction = sign(payload, self._secret)
        return SignedTransaction(payload.nonce, transaction.hash, transaction.raw)
