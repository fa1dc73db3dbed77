"""`Transaction`: a payload of any type with sender, hash and raw bytes; decoding, recovering and signing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import msgspec

from entresol import _native
from entresol._native import BlobSidecar, rlp_decode, rlp_encode
from entresol.errors import (
    InvalidSignature,
    InvalidTransaction,
    MalformedValue,
    TransactionRuleBroken,
)
from entresol.errors.base import without_frames
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
from entresol.primitives.transactions.priority import L1_TYPES, PriorityTransaction
from entresol.primitives.transactions.system import SYSTEM_TYPE, UNSIGNED_TYPES, SystemTransaction
from entresol.primitives.transactions.zk import ZK_TYPE, ZkTransaction
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol._native import DecodedTransaction, DecodedZkFields


SignedPayload: TypeAlias = EthereumTransaction | ZkTransaction

Payload: TypeAlias = SignedPayload | PriorityTransaction | SystemTransaction

_ZK_PREFIX: Final = bytes([ZK_TYPE])

# No point of the curve has this coordinate, so no key can sign with it and no sender can be recovered
# from it: a transaction with it can only come from here or from a record.
_IMPERSONATION_R: Final = 5

_IMPERSONATION_S: Final = 1 << 160

_NO_SIGNATURE: Final = b"\x80\x80"
"""How the fields r and s end a transaction if they are 0."""


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


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction with its sender, its hash and its raw bytes, as a block contains them."""

    payload: Payload
    sender: Address
    hash: Hash32
    raw: bytes
    sidecar: BlobSidecar | None = None
    """The blobs of a blob transaction, which blocks do not contain; their proofs hold."""
    signature_error: InvalidSignature | None = None
    """Why the sender's key has not signed a transaction of type 0x71; a contract account may still accept it."""

    @classmethod
    def from_l1(cls, payload: PriorityTransaction) -> Self:
        """Return the transaction of a priority payload; its `raw` is the storage encoding."""
        return cls(
            payload=payload, sender=payload.sender, hash=payload.hash(), raw=payload.encode()
        )

    @classmethod
    def of_system(cls, payload: SystemTransaction) -> Self:
        """Return the transaction of the node itself."""
        raw = payload.encode()
        return cls(
            payload=payload, sender=payload.sender, hash=Hash32(_native.keccak256(raw)), raw=raw
        )

    @property
    def type(self) -> int:
        """The transaction type."""
        return self.payload.type

    @property
    def sent_raw(self) -> bytes:
        """The raw bytes as they are sent: with the sidecar, if there is one."""
        return self.raw if self.sidecar is None else self.sidecar.wrap(self.raw)

    @property
    def is_impersonated(self) -> bool:
        """Whether it was sent by impersonation, without a signature."""
        payload = self.payload
        if isinstance(payload, ZkTransaction):
            # Beside a custom signature, r and s have no meaning and may hold anything.
            return payload.r == _IMPERSONATION_R and not payload.custom_signature
        if isinstance(payload, PriorityTransaction | SystemTransaction):
            return False
        # One without a signature was loaded from a state file of anvil.
        return payload.r == _IMPERSONATION_R or payload.r == payload.s == 0


def decode(raw: bytes) -> Transaction:
    """Decode a signed transaction, with proofs of blobs, which takes milliseconds; the sender of 0x71 may be a contract."""
    _reject_unsigned(raw)
    if raw.startswith(_ZK_PREFIX):
        return _from_zk_fields(_native.decode_zk_transaction(raw), raw)
    return _from_native(_native.decode_transaction(raw), raw)


def decode_many(raws: Sequence[bytes]) -> list[Transaction | InvalidTransaction]:
    """Decode like `decode`, on all cores; a rejected transaction yields its error."""
    results = _native.decode_transactions(list(raws))
    return [_from_result(result, raw) for result, raw in zip(results, raws, strict=True)]


def load(raw: bytes, sender: Address) -> Transaction:
    """Decode stored `raw` bytes of any type; `sender` was verified before they were stored."""
    if raw.startswith(_ZK_PREFIX):
        return _from_zk_fields(_native.decode_zk_transaction(raw, recovers=False), raw)
    if raw and raw[0] in L1_TYPES:
        l1_payload = PriorityTransaction.decode(raw)
        return Transaction(
            payload=l1_payload, sender=l1_payload.sender, hash=l1_payload.hash(), raw=raw
        )
    if raw and raw[0] == SYSTEM_TYPE:
        return Transaction.of_system(SystemTransaction.decode(raw))
    return _from_native(_native.decode_transaction(raw, sender=sender), raw)


def may_be_unsigned(raw: bytes) -> bool:
    """Return whether stored bytes may have no signature, as anvil's; then the hash covers the sender, too."""
    return raw.endswith(_NO_SIGNATURE)


def sign(
    payload: SignedPayload,
    secret: bytes,
    sidecar: BlobSidecar | None = None,
    *,
    sender: Address | None = None,
) -> Transaction:
    """Sign `payload`; with the `sender` of the key, nobody recovers it, which takes longer than signing."""
    signature = _native.sign(payload.signing_hash(), secret)
    raw = payload.with_signature(signature).encode()
    return with_sidecar(decode(raw) if sender is None else load(raw, sender), sidecar)


def without_sidecar(raw: bytes) -> bytes:
    """Return a raw blob transaction without the blobs and proofs that it may come with; what is malformed stays so."""
    try:
        items = rlp_decode(raw[1:])
    except MalformedValue:
        return raw
    # With a sidecar, the first item is the transaction itself.
    if isinstance(items, list) and items and isinstance(items[0], list):
        return raw[:1] + rlp_encode(items[0])
    return raw


def with_sidecar(transaction: Transaction, sidecar: BlobSidecar | None) -> Transaction:
    """Return a blob transaction with its sidecar, which has been verified."""
    return transaction if sidecar is None else msgspec.structs.replace(transaction, sidecar=sidecar)


def unsigned(
    payload: SignedPayload, sender: Address, sidecar: BlobSidecar | None = None
) -> Transaction:
    """Return a transaction as it is before it is signed: its signature is zero, and its hash will be another."""
    raw = payload.encode()
    if isinstance(payload, ZkTransaction):
        return Transaction(payload=payload, sender=payload.sender, hash=payload.hash(), raw=raw)
    return Transaction(
        payload=payload,
        sender=sender,
        hash=Hash32(_native.keccak256(raw)),
        raw=raw,
        sidecar=sidecar,
    )


def impersonate(
    payload: SignedPayload, sender: Address, sidecar: BlobSidecar | None = None
) -> Transaction:
    """Return an unsigned transaction whose signature has the sender, so that bytes and hash are unique."""
    signature: dict[str, int] = {
        "r": _IMPERSONATION_R,
        "s": _IMPERSONATION_S | int.from_bytes(sender),
    }
    signature["v" if isinstance(payload, ZkTransaction) else "y_parity"] = 0
    marked = msgspec.structs.replace(payload, **signature)
    return with_sidecar(load(marked.encode(), sender), sidecar)


def marked(transaction: Transaction) -> Transaction:
    """Return an unsigned transaction with the mark of its sender, and any other as it is."""
    payload = transaction.payload
    if isinstance(payload, EthereumTransaction) and payload.r == payload.s == 0:
        return impersonate(payload, transaction.sender, transaction.sidecar)
    return transaction


def names_impersonated(transaction: Transaction) -> bool:
    """Return whether a loaded transaction is an impersonated one of its sender: unsigned, or marked with the sender."""
    payload = transaction.payload
    if not transaction.is_impersonated or isinstance(
        payload, PriorityTransaction | SystemTransaction
    ):
        return False
    return payload.r == 0 or payload.s == _IMPERSONATION_S | int.from_bytes(transaction.sender)


def named_sender(transaction: Transaction) -> Address | None:
    """Return the sender that an impersonated transaction is marked with; None for any other."""
    payload = transaction.payload
    if not transaction.is_impersonated or isinstance(
        payload, PriorityTransaction | SystemTransaction
    ):
        return None
    marked_with = payload.s ^ _IMPERSONATION_S
    if payload.r != _IMPERSONATION_R or marked_with >= _IMPERSONATION_S:
        return None
    sender = Address(marked_with.to_bytes(Address.size))
    # Type 0x71 names its sender twice.
    is_other = isinstance(payload, ZkTransaction) and payload.sender != sender
    return None if is_other else sender


def _from_result(
    result: _native.DecodedTransaction | DecodedZkFields | InvalidTransaction, raw: bytes
) -> Transaction | InvalidTransaction:
    if isinstance(result, _native.DecodedTransaction):
        return _from_native(result, raw)
    try:
        if isinstance(result, tuple):
            return _from_zk_fields(result, raw)
        _reject_unsigned(raw)
    except InvalidTransaction as error:
        return without_frames(error)
    return result


def _reject_unsigned(raw: bytes) -> None:
    if raw and raw[0] in UNSIGNED_TYPES:
        raise TransactionRuleBroken("type", raw[0])


def _from_zk_fields(found: DecodedZkFields, raw: bytes) -> Transaction:
    """Return a transaction with what is wrong with its signature, unless that is an impersonation."""
    head, tail, tx_hash, error = found
    payload = ZkTransaction.of_fields(head, tail)
    transaction = Transaction(
        payload=payload, sender=payload.sender, hash=Hash32(tx_hash), raw=raw, signature_error=error
    )
    if error is not None and transaction.is_impersonated:
        raise error
    return transaction


def _from_native(decoded: _native.DecodedTransaction, raw: bytes) -> Transaction:
    return Transaction(
        payload=ethereum_payload(decoded),
        sender=Address(decoded.sender),
        hash=Hash32(decoded.hash),
        raw=decoded.bare or raw,
        sidecar=decoded.sidecar,
    )


def recover_many(stored: Sequence[tuple[bytes, bytes]]) -> list[Transaction | InvalidTransaction]:
    """Decode stored transactions of any type, each with its alleged sender, and recover who has sent them.

    On all cores. What is malformed, or sent by somebody else, yields its error. That of a signature of type 0x71 is in
    the transaction, since only the state says who judges it. An impersonated one names its sender; one that was loaded
    from a state file of anvil names none, and is believed.
    """
    decoded = iter(decode_many([raw for raw, _ in stored if raw[0] not in UNSIGNED_TYPES]))
    return [
        _checked(
            _loaded(raw, sender) if raw[0] in UNSIGNED_TYPES else next(decoded),
            raw,
            Address(sender),
        )
        for raw, sender in stored
    ]


def decode_published(raws: Sequence[bytes]) -> list[Transaction | InvalidTransaction]:
    """Decode published transactions, on all cores, by who has signed or whom an impersonated one names; else its error."""
    decoded = zip(raws, decode_many(raws), strict=True)
    return [
        _impersonated(raw, found) if isinstance(found, InvalidTransaction) else found
        for raw, found in decoded
    ]


def _impersonated(raw: bytes, error: InvalidTransaction) -> Transaction | InvalidTransaction:
    """Return a transaction without a signature that names its sender; the error of any other."""
    unnamed = _loaded(raw, Address.zero())
    if isinstance(unnamed, InvalidTransaction):
        return error
    named = named_sender(unnamed)
    return error if named is None else load(raw, named)


def _checked(
    found: Transaction | InvalidTransaction, raw: bytes, sender: Address
) -> Transaction | InvalidTransaction:
    if isinstance(found, InvalidTransaction):
        loaded = _loaded(raw, sender)
        if isinstance(loaded, InvalidTransaction) or not names_impersonated(loaded):
            return found
        found = loaded
    if found.sender == sender:
        return found
    problem = f"it is sent by 0x{found.sender.hex()}, not by 0x{sender.hex()}"
    return InvalidSignature(problem, found.sender)


def _loaded(raw: bytes, sender: bytes) -> Transaction | InvalidTransaction:
    try:
        return load(raw, Address(sender))
    except InvalidTransaction as error:
        return without_frames(error)
