"""The ZKsync transaction type 0x71: typed-data signatures, paymasters and factory dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

import msgspec

from entresol._native import (
    decode_zk_transaction,
    encode_zk_transaction,
    factory_dep_hashes,
    zk_signature,
    zk_signing_hash,
    zk_transaction_hash,
)
from entresol.primitives.transactions.ethereum import Access, Authorization
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import ZkHead, ZkTail

ZK_TYPE: Final = 0x71
DEFAULT_GAS_PER_PUBDATA: Final = 50_000
"""The gas per pubdata limit of a transaction whose client sets none."""


class Paymaster(msgspec.Struct, frozen=True):
    """The account that pays the fee in the sender's place, and its input."""

    address: Address
    input: bytes = b""

    @property
    def pays(self) -> bool:
        """Whether it is one: anybody but the zero address is, as the crate decides it, too (`ZkTx::has_paymaster`)."""
        return any(self.address)


class ZkTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that names its sender, and is signed as any other, or by a `custom_signature`, which wins.

    Its codec is the crate's alone. `v` stays as it was encoded, 0 or 1 by some clients and 27 or 28 by others; without a
    plain signature it is none, and the encoding has the chain id in its place.
    """

    type: ClassVar[int] = ZK_TYPE
    access_list: ClassVar[tuple[Access, ...]] = ()
    authorizations: ClassVar[tuple[Authorization, ...]] = ()

    nonce: int
    max_priority_fee_per_gas: int
    max_fee_per_gas: int
    gas_limit: int
    to: Address
    value: int = 0
    data: bytes = b""
    v: int | None = None
    r: int = 0
    s: int = 0
    chain_id: int
    sender: Address
    gas_per_pubdata_limit: int
    factory_deps: tuple[bytes, ...] = ()
    custom_signature: bytes = b""
    paymaster: Paymaster | None = None

    @classmethod
    def decode(cls, raw: bytes) -> Self:
        """Decode what `encode` writes; whether it is signed is not checked."""
        head, tail, _, _ = decode_zk_transaction(raw, recovers=False)
        return cls.of_fields(head, tail)

    @classmethod
    def of_fields(cls, head: ZkHead, tail: ZkTail) -> Self:
        """Return the payload with the fields that the crate has decoded."""
        nonce, tip, fee_cap, gas_limit, to, value, data, (v, r, s) = head
        chain_id, sender, gas_per_pubdata_limit, deps, custom_signature, paymaster = tail
        return cls(
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
            factory_deps=deps,
            custom_signature=custom_signature,
            paymaster=None if paymaster is None else Paymaster(Address(paymaster[0]), paymaster[1]),
        )

    @property
    def fee_cap(self) -> int:
        """The most wei it pays for a unit of gas."""
        return self.max_fee_per_gas

    @property
    def tip(self) -> int:
        """The most wei of them that may go to the producer: none, since clients set it to the fee cap without being asked."""
        return 0

    @property
    def signature(self) -> bytes:
        """The signature that counts: the custom one, or `r ‖ s ‖ v` with `v` 27 or 28, or none."""
        return zk_signature(self.v, self.r, self.s, self.custom_signature)

    def encode(self) -> bytes:
        """Return the raw transaction."""
        return encode_zk_transaction(self)

    def signing_hash(self) -> Hash32:
        """Return the typed-data digest that the sender signs."""
        return Hash32(zk_signing_hash(self))

    def hash(self) -> Hash32:
        """Return the transaction hash, which covers the signature that counts."""
        return Hash32(zk_transaction_hash(self))

    @property
    def sponsor(self) -> Paymaster | None:
        """The paymaster, if one pays."""
        return self.paymaster if self.paymaster is not None and self.paymaster.pays else None

    @property
    def paymaster_input(self) -> bytes:
        """The input of the paymaster; empty if none pays."""
        return b"" if self.sponsor is None else self.sponsor.input

    def factory_dep_hashes(self) -> tuple[Hash32, ...]:
        """Return the hashes under which the dependencies are published."""
        return tuple(map(Hash32, factory_dep_hashes(self.factory_deps)))

    def with_signature(self, signature: bytes) -> Self:
        """Return this transaction signed with `r ‖ s ‖ parity`, parity being 0 or 1."""
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
        return msgspec.structs.replace(self, v=signature[64], r=r, s=s, custom_signature=b"")


NO_PAYMASTER: Final = Paymaster(Address.zero())
