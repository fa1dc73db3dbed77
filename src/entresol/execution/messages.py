"""Transactions as the engine runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import Message
from entresol.primitives.transactions import AccessListTransaction, LegacyTransaction

if TYPE_CHECKING:
    from entresol.primitives.transactions import PriorityTransaction, Transaction


def message_of(transaction: Transaction) -> Message:
    """Return the message of a signed transaction; type 0x71 runs as one with a fee cap and a tip."""
    payload = transaction.payload
    has_one_price = isinstance(payload, LegacyTransaction | AccessListTransaction)
    return Message(
        sender=transaction.sender,
        gas_limit=payload.gas_limit,
        to=payload.to,
        value=payload.value,
        data=payload.data,
        gas_price=payload.fee_cap,
        priority_fee=None if has_one_price else payload.tip,
        nonce=payload.nonce,
        chain_id=payload.chain_id,
        access_list=[(access.account, access.slots) for access in payload.access_list]
        if payload.type in (1, 2, 4)
        else None,
    )


def priority_message(payload: PriorityTransaction) -> Message:
    """Return the message of an L1 transaction, which brings its value along."""
    return Message(
        sender=payload.sender,
        gas_limit=payload.gas_limit,
        to=payload.to,
        value=payload.value,
        data=payload.data,
        gas_price=payload.max_fee_per_gas,
        mint=payload.value,
        keeps_nonce=True,
    )
