"""Transactions that L1 requests."""

from __future__ import annotations

from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address

GAS_PER_PUBDATA = 800


def priority_transaction(
    nonce: int = 0,
    *,
    sender: bytes,
    to: bytes,
    value: int = 0,
    data: bytes = b"",
    gas_limit: int = 100_000,
    fee: int = 0,
    to_mint: int | None = None,
    refund_recipient: bytes | None = None,
) -> PriorityTransaction:
    """Return a transaction from L1, which by default mints its value and its fee and refunds its sender."""
    return PriorityTransaction(
        sender=Address(sender),
        to=Address(to),
        gas_limit=gas_limit,
        gas_per_pubdata_limit=GAS_PER_PUBDATA,
        max_fee_per_gas=fee,
        nonce=nonce,
        value=value,
        to_mint=value + gas_limit * fee if to_mint is None else to_mint,
        refund_recipient=Address(sender if refund_recipient is None else refund_recipient),
        data=data,
    )
