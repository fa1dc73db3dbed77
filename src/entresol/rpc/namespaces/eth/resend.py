"""`eth_resend`: replace a pending transaction by one at another price."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, cast

import msgspec

from entresol.errors import (
    AccountsLocked,
    InvalidTransaction,
    MalformedTransaction,
    PendingTransactionNotFound,
    PoolRejection,
    UnknownAccount,
)
from entresol.primitives.transactions import (
    AccessListTransaction,
    LegacyTransaction,
    SignedPayload,
)
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.method import Order, ServedBy, method
from entresol.rpc.types.call_request import TransactionObject
from entresol.rpc.types.number import HexOrInteger, HexOrInteger64

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.dev.keyring import Keyring
    from entresol.primitives.transactions import Payload
    from entresol.sequencer.submission import Submission


class EthResend:
    """Pending transactions of the node's own accounts, sent again at another price."""

    prefix = "eth"

    def __init__(self, chain: Chain, submission: Submission, keyring: Keyring) -> None:
        self._chain = chain
        self._submission = submission
        self._keyring = keyring

    @method(
        UnknownAccount,
        AccountsLocked,
        PendingTransactionNotFound,
        InvalidTransaction,
        PoolRejection,
        order=Order.IN_TURN,
        served_by=ServedBy.PRODUCER,
    )
    def resend(
        self,
        transaction: TransactionObject,
        gas_price: HexOrInteger | None = None,
        gas_limit: HexOrInteger64 | None = None,
    ) -> Awaitable[Hash32]:
        """Replace a pending transaction of one of the node's accounts by one at another price; return its hash.

        It is found by sender and nonce, and has to agree with everything else that the request says of it. The price is
        that of the gas, or both caps; without one, or with zero, it stays, and so does the limit.
        """
        return self._resend(transaction, int(gas_price or 0), int(gas_limit or 0))

    async def _resend(self, given: TransactionObject, price: int, gas_limit: int) -> Hash32:
        sender = self._keyring.sender(given.from_)
        if given.nonce is None:
            raise MalformedTransaction("is missing", field="nonce")
        nonce = int(given.nonce)
        async with self._submission.turn(sender):
            pending = self._chain.pool.find(sender, nonce)
            if pending is None:
                raise PendingTransactionNotFound(sender, nonce)
            if (differs := _difference(given, pending.payload)) is not None:
                raise PendingTransactionNotFound(sender, nonce, differs)
            # The pool has no others.
            payload = cast("SignedPayload", pending.payload)
            repriced = _repriced(payload, price, gas_limit)
            signed = self._keyring.transaction(repriced, sender, pending.sidecar)
            again = msgspec.structs.replace(signed, conditions=pending.conditions)
            response = await self._submission.send(again)
        return await response


def _difference(given: TransactionObject, pending: Payload) -> str | None:
    """Return which member of a request is not that of a pending transaction."""
    said = {
        "to": (given.to, pending.to),
        "value": (given.value, pending.value),
        "data": (given.input if given.data is None else given.data, pending.data),
        "gas": (given.gas, pending.gas_limit),
        "gasPrice": (given.gas_price, pending.fee_cap),
        "maxFeePerGas": (given.max_fee_per_gas, pending.fee_cap),
        "maxPriorityFeePerGas": (given.max_priority_fee_per_gas, pending.tip),
        "type": (given.type, pending.type),
        "chainId": (given.chain_id, pending.chain_id),
    }
    differs = (name for name, (wanted, is_) in said.items() if wanted not in (None, is_))
    return next(differs, None)


def _repriced(payload: SignedPayload, price: int, gas_limit: int) -> SignedPayload:
    """Return a transaction at another price, and with another gas limit, unless they are zero."""
    changed: dict[str, int] = {"gas_limit": gas_limit} if gas_limit else {}
    if price and isinstance(payload, LegacyTransaction | AccessListTransaction):
        changed["gas_price"] = price
    elif price:
        changed |= {"max_fee_per_gas": price, "max_priority_fee_per_gas": price}
    return msgspec.structs.replace(payload, **changed)
