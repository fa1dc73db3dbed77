"""Transactions of every supported type: payload, sender, hash and encoding."""

from entresol.primitives.transactions.envelope import (
    Payload,
    SignedPayload,
    Transaction,
    decode,
    decode_many,
    decode_published,
    impersonate,
    load,
    marked,
    may_be_unsigned,
    recover_many,
    sign,
    unsigned,
    with_sidecar,
    without_sidecar,
)
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
from entresol.primitives.transactions.priority import PriorityTransaction
from entresol.primitives.transactions.system import SystemTransaction
from entresol.primitives.transactions.zk import Paymaster, ZkTransaction

__all__ = [
    "Access",
    "AccessListTransaction",
    "Authorization",
    "BlobTransaction",
    "EthereumTransaction",
    "FeeMarketTransaction",
    "LegacyTransaction",
    "Payload",
    "Paymaster",
    "PriorityTransaction",
    "SetCodeTransaction",
    "SignedPayload",
    "SystemTransaction",
    "Transaction",
    "ZkTransaction",
    "decode",
    "decode_many",
    "decode_published",
    "impersonate",
    "load",
    "marked",
    "may_be_unsigned",
    "recover_many",
    "sign",
    "unsigned",
    "with_sidecar",
    "without_sidecar",
]
