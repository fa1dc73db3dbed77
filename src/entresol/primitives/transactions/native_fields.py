"""Payloads of transactions from the fields that the crate has decoded, and validated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entresol.primitives.transactions.ethereum import (
    Access,
    AccessListTransaction,
    Authorization,
    BlobTransaction,
    EthereumTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
)
from entresol.primitives.transactions.zk import Paymaster, ZkTransaction
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import DecodedTransaction, ZkHead, ZkTail


def ethereum_payload(decoded: DecodedTransaction) -> EthereumTransaction:
    """Return the payload of a transaction of Ethereum's types."""
    # The crate has validated every field, so the keywords are not checked here.
    fields: dict[str, Any] = {
        "chain_id": decoded.chain_id,
        "nonce": decoded.nonce,
        "gas_limit": decoded.gas_limit,
        "to": None if (to := decoded.to) is None else Address(to),
        "value": decoded.value,
        "data": decoded.data,
        "y_parity": decoded.y_parity,
        "r": decoded.r,
        "s": decoded.s,
    }
    kind = decoded.type
    if kind < FeeMarketTransaction.type:
        fields["gas_price"] = decoded.gas_price
    else:
        fields["max_fee_per_gas"] = decoded.max_fee_per_gas
        fields["max_priority_fee_per_gas"] = decoded.max_priority_fee_per_gas
    if kind == LegacyTransaction.type:
        return LegacyTransaction(**fields)
    fields["access_list"] = _access_list(decoded)
    if kind == AccessListTransaction.type:
        return AccessListTransaction(**fields)
    if kind == FeeMarketTransaction.type:
        return FeeMarketTransaction(**fields)
    if kind == BlobTransaction.type:
        return BlobTransaction(
            max_fee_per_blob_gas=decoded.max_fee_per_blob_gas or 0,
            blob_hashes=tuple(map(Hash32, decoded.blob_hashes)),
            **fields,
        )
    return SetCodeTransaction(authorizations=_authorizations(decoded), **fields)


def zk_payload(head: ZkHead, tail: ZkTail) -> ZkTransaction:
    """Return the payload of a transaction of type 0x71; the crate decodes only those without factory dependencies."""
    nonce, tip, fee_cap, gas_limit, to, value, data, (v, r, s) = head
    chain_id, sender, gas_per_pubdata_limit, custom_signature, paymaster = tail
    return ZkTransaction(
        nonce=nonce,
        max_priority_fee_per_gas=tip,
        max_fee_per_gas=fee_cap,
        gas_limit=gas_limit,
        to=Address(to),
        value=value,
        data=data,
        v=v,
        r=r,
        s=s,
        chain_id=chain_id,
        sender=Address(sender),
        gas_per_pubdata_limit=gas_per_pubdata_limit,
        custom_signature=custom_signature,
        paymaster=None if paymaster is None else Paymaster(Address(paymaster[0]), paymaster[1]),
    )


def _access_list(decoded: DecodedTransaction) -> tuple[Access, ...]:
    return tuple(
        Access(Address(account), tuple(map(Hash32, slots)))
        for account, slots in decoded.access_list
    )


def _authorizations(decoded: DecodedTransaction) -> tuple[Authorization, ...]:
    return tuple(
        Authorization(chain_id, Address(address), nonce, y_parity, r, s)
        for chain_id, address, nonce, y_parity, r, s in decoded.authorizations
    )
