"""The operator: the L1 account that signs the node's own transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import address_of, public_key
from entresol.errors import LayerOneRejected
from entresol.primitives.transactions import FeeMarketTransaction, decode, sign
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.l1.layer_one import L1Fees, LayerOne

# The gas limit relative to the estimate: the state may change until the transaction is included.
GAS_LIMIT_PERCENT: Final = 130
# The fees of a replacement relative to those it replaces; nodes require at least 110.
FEE_BUMP_PERCENT: Final = 125

_ALREADY_SENT: Final = ("underpriced", "nonce too low", "already known", "already imported")


class SignedTransaction(msgspec.Struct, frozen=True):
    """A signed transaction: its nonce, hash and raw bytes."""

    nonce: int
    hash: Hash32
    raw: bytes


class Operator:
    """Signs and sends transactions of one account, one at a time.

    Remembers: nothing; the nonce is the account's on L1, since it has no pending transaction. A caller
    that must know after a crash what was sent persists the `SignedTransaction` before sending it.
    """

    def __init__(self, l1: LayerOne, secret: bytes) -> None:
        self._l1 = l1
        self._secret = secret
        self.address = Address(address_of(public_key(secret)))

    async def sign_call(self, to: Address | None, data: bytes) -> SignedTransaction:
        """Sign a call, or a creation if `to` is None; raises `ExecutionFailed` if it would revert."""
        gas = await self._l1.estimate_gas(self.address, to, data)
        fees = await self._l1.fees()
        payload = FeeMarketTransaction(
            chain_id=await self._l1.chain_id(),
            nonce=await self._l1.nonce(self.address),
            max_priority_fee_per_gas=fees.tip,
            max_fee_per_gas=_max_fee(fees),
            gas_limit=gas * GAS_LIMIT_PERCENT // 100,
            to=to,
            value=0,
            data=data,
        )
        return self._sign(payload)

    async def sign_replacement(self, stuck: SignedTransaction) -> SignedTransaction:
        """Sign the same transaction with a higher fee."""
        fees = await self._l1.fees()
        payload = decode(stuck.raw).payload
        assert isinstance(payload, FeeMarketTransaction)
        return self._sign(
            msgspec.structs.replace(
                payload,
                max_fee_per_gas=max(_bumped(payload.max_fee_per_gas), _max_fee(fees)),
                max_priority_fee_per_gas=max(_bumped(payload.max_priority_fee_per_gas), fees.tip),
            )
        )

    async def send(self, signed: SignedTransaction) -> None:
        """Send a transaction; succeeds if L1 has it, or another one with its nonce."""
        try:
            await self._l1.send(signed.raw)
        except LayerOneRejected as error:
            if not any(text in error.message.lower() for text in _ALREADY_SENT):
                raise

    def _sign(self, payload: FeeMarketTransaction) -> SignedTransaction:
        transaction = sign(payload, self._secret)
        return SignedTransaction(payload.nonce, transaction.hash, transaction.raw)


def _max_fee(fees: L1Fees) -> int:
    """Return a fee cap with room for a base fee that doubles."""
    return 2 * fees.base_fee + fees.tip


def _bumped(fee: int) -> int:
    return fee * FEE_BUMP_PERCENT // 100 + 1
