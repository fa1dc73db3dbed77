"""Build the unsigned transaction of a simulated call."""

from __future__ import annotations

from typing import Any, Final

from entresol._native import Rules, keccak256
from entresol.errors import MalformedTransaction
from entresol.execution.call.call import CallRequest
from entresol.primitives.transactions import (
    AccessListTransaction,
    BlobTransaction,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    Transaction,
)
from entresol.primitives.transactions.ethereum import EthereumTransaction
from entresol.primitives.values import Hash32

_BEFORE_FEE_CAPS: Final = frozenset({"byzantium", "petersburg", "istanbul", "berlin"})


def unsigned(request: CallRequest, rules: Rules, *, nonce: int, gas: int) -> Transaction:
    """Return `request` as an unsigned transaction; `nonce` applies if it names none.

    Its type is 2 unless a gas price, blobs or authorizations imply another.
    """
    fields: dict[str, Any] = {
        "nonce": nonce if request.nonce is None else request.nonce,
        "gas_limit": gas,
        "to": request.to,
        "value": request.value,
        "data": request.data,
        "chain_id": rules.chain_id if request.chain_id is None else request.chain_id,
    }
    payload = _payload(request, rules, fields)
    raw = payload.encode()
    return Transaction(payload=payload, sender=request.sender, hash=Hash32(keccak256(raw)), raw=raw)


def _payload(request: CallRequest, rules: Rules, fields: dict[str, Any]) -> EthereumTransaction:
    access_list = request.access_list
    if request.gas_price is not None or rules.fork in _BEFORE_FEE_CAPS:
        fields["gas_price"] = request.gas_price or 0
        if access_list is None:
            return LegacyTransaction(**fields)
        return AccessListTransaction(**fields, access_list=access_list)
    fields["max_fee_per_gas"] = request.max_fee_per_gas or 0
    fields["max_priority_fee_per_gas"] = request.max_priority_fee_per_gas or 0
    fields["access_list"] = access_list or ()
    if request.blob_hashes is not None:
        if request.to is None:
            raise MalformedTransaction("a blob transaction cannot create", field="to")
        blob_fee = request.max_fee_per_blob_gas or 0
        hashes = request.blob_hashes
        return BlobTransaction(**fields, max_fee_per_blob_gas=blob_fee, blob_hashes=hashes)
    if request.authorizations is None:
        return FeeMarketTransaction(**fields)
    return SetCodeTransaction(**fields, authorizations=request.authorizations)
