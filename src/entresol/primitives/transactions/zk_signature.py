"""The signature of a transaction of type 0x71, and the hash that covers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol._native import keccak256, recover
from entresol.errors import InvalidSignature
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol.primitives.transactions.zk import ZkTransaction

_SIGNATURE_SIZE: Final = 65
_V: Final = frozenset({27, 28})


def transaction_hash(payload: ZkTransaction, digest: bytes | None = None) -> Hash32:
    """Return the transaction hash, which covers the signature that counts; `digest` is the signing hash, if known."""
    signed = payload.signing_hash() if digest is None else digest
    return Hash32(keccak256(signed + keccak256(payload.signature)))


def verify(payload: ZkTransaction, digest: bytes) -> None:
    """Reject a transaction that its sender's key did not sign.

    Client libraries put an ordinary signature into either form. Only the code of a contract account decides what that
    accepts.
    """
    signature = payload.signature
    if not signature:
        raise InvalidSignature("the transaction is not signed")
    if len(signature) != _SIGNATURE_SIZE:
        problem = f"a signature is {_SIGNATURE_SIZE} bytes, got {len(signature)}"
        raise InvalidSignature(problem, _first_signer(signature, digest))
    if signature[-1] not in _V:
        raise InvalidSignature(f"v of a custom signature is 27 or 28, got {signature[-1]}")
    signed_by = Address(recover(digest, signature))
    if signed_by != payload.sender:
        raise signed_by_another(payload, signed_by)


def signed_by_another(payload: ZkTransaction, signer: bytes) -> InvalidSignature:
    """Return the error of a transaction that another key than the sender's has signed."""
    return InvalidSignature(f"signed by {Address(signer)}, sent from {payload.sender}", signer)


def _first_signer(signature: bytes, digest: bytes) -> bytes | None:
    """Return the key of the first of several signatures, as an account of several owners takes them."""
    first = signature[:_SIGNATURE_SIZE]
    if len(first) < _SIGNATURE_SIZE or first[-1] not in _V:
        return None
    try:
        return recover(digest, first)
    except InvalidSignature:
        return None
