"""An account on L1 that sends transactions of the node's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import address_of, public_key
from entresol.errors import LayerOneRejected
from entresol.primitives.transactions import FeeMarketTransaction, decode, sign
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.l1.layer_one import L1Fees, LayerOne

# Room for what changes between the estimate and the block, in percent.
GAS_MARGIN: Final = 130
# How much more a replacement offers, in percent; nodes ask for at least 110.
BUMP: Final = 125

_REPLACED: Final = ("underpriced", "nonce too low", "already known", "already imported")


class SignedTransaction(msgspec.Struct, frozen=True):
    """A transaction that was signed, by its raw bytes, and the hash that L1 knows it by."""

    nonce: int
    hash: Hash32
    raw: bytes


class Operator:
    """Signs and sends transactions of one account, one after the other.

    Remembers: nothing; the next nonce is what L1 has counted, since nothing else is under way. Who
    needs to know after a crash what was sent writes down an `SignedTransaction` before it is sent.
    """

    def __init__(self, l1: LayerOne, secret: bytes) -> None:
        self._l1 = l1
        self._secret = secret
        self.address = Address(address_of(public_key(secret)))

    async def sign_call(self, to: Address | None, data: bytes) -> SignedTransaction:
        """Sign a call, without sending it; raises what it would fail with."""
        gas = await self._l1.estimate_gas(self.address, to, data)
        fees = await self._l1.fees()
        payload = FeeMarketTransaction(
            chain_id=await self._l1.chain_id(),
            nonce=await self._l1.nonce(self.address),
            max_priority_fee_per_gas=fees.tip,
            max_fee_per_gas=_cap(fees),
            gas_limit=gas * GAS_MARGIN // 100,
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
                max_fee_per_gas=max(_bumped(payload.max_fee_per_gas), _cap(fees)),
                max_priority_fee_per_gas=max(_bumped(payload.max_priority_fee_per_gas), fees.tip),
            )
        )

    async def send(self, outgoing: SignedTransaction) -> None:
        """Send it; that it, or another with its nonce, is there already is fine."""
        try:
            await self._l1.send(outgoing.raw)
        except LayerOneRejected as error:
            if not any(text in error.message.lower() for text in _REPLACED):
                raise

    def _sign(self, payload: FeeMarketTransaction) -> SignedTransaction:
        transaction = sign(payload, self._secret)
        return SignedTransaction(payload.nonce, transaction.hash, transaction.raw)


def _cap(fees: L1Fees) -> int:
    """Return a fee cap that the base fee does not outgrow soon."""
    return 2 * fees.base_fee + fees.tip


def _bumped(fee: int) -> int:
    return fee * BUMP // 100 + 1
