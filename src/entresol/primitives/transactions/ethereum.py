"""The transaction types of Ethereum: legacy, access list, fee market, blob and set code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import msgspec

from entresol._native import BLOB_GAS, keccak256, rlp_encode
from entresol.primitives.rlp import encode_uint
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import RlpItem


class Access(msgspec.Struct, frozen=True):
    """An entry of an access list: an account and some of its slots."""

    account: Address
    slots: tuple[Hash32, ...] = ()


class Authorization(msgspec.Struct, frozen=True):
    """A signed authorization of EIP-7702 to delegate to the code of `address`."""

    chain_id: int
    address: Address
    nonce: int
    y_parity: int
    r: int
    s: int


class EthereumPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The common fields of Ethereum's types; unsigned while `r` and `s` are zero."""

    type: ClassVar[int]
    signed: ClassVar[tuple[str, ...]]

    nonce: int
    gas_limit: int
    to: Address | None
    value: int = 0
    data: bytes = b""
    y_parity: int = 0
    r: int = 0
    s: int = 0

    @property
    def v(self) -> int:
        """The `v` of the signature as it is encoded."""
        return self.y_parity

    def encode(self) -> bytes:
        """Return the raw transaction."""
        signature = [encode_uint(self.v), encode_uint(self.r), encode_uint(self.s)]
        return self._enveloped([*self._signed_fields(), *signature])

    def signing_hash(self) -> Hash32:
        """Return the hash that the sender signs."""
        return Hash32(keccak256(self._enveloped(self._signed_fields())))

    def with_signature(self, signature: bytes) -> Self:
        """Return this transaction with the signature `r ‖ s ‖ y_parity`."""
        return msgspec.structs.replace(
            self,
            y_parity=signature[64],
            r=int.from_bytes(signature[:32]),
            s=int.from_bytes(signature[32:64]),
        )

    def _signed_fields(self) -> list[RlpItem]:
        return [_item(getattr(self, name)) for name in self.signed]

    def _enveloped(self, fields: list[RlpItem]) -> bytes:
        return bytes([self.type]) + rlp_encode(fields)


class GasPricePayload(EthereumPayload, frozen=True, kw_only=True):
    """The common fields of the types with a gas price."""

    authorizations: ClassVar[tuple[Authorization, ...]] = ()

    gas_price: int

    @property
    def fee_cap(self) -> int:
        """The maximum wei for a unit of gas."""
        return self.gas_price

    @property
    def tip(self) -> int:
        """The maximum of it that goes to the block producer."""
        return self.gas_price


class LegacyTransaction(GasPricePayload, frozen=True, kw_only=True):
    """An untyped transaction; without a chain id it is valid on any chain."""

    type: ClassVar[int] = 0
    signed: ClassVar[tuple[str, ...]] = ("nonce", "gas_price", "gas_limit", "to", "value", "data")
    access_list: ClassVar[tuple[Access, ...]] = ()

    chain_id: int | None = None

    @property
    def v(self) -> int:
        """The parity, combined with the chain id of EIP-155 if there is one."""
        return self.y_parity + (27 if self.chain_id is None else 35 + 2 * self.chain_id)

    def signing_hash(self) -> Hash32:
        """Return the hash that the sender signs."""
        fields = self._signed_fields()
        if self.chain_id is not None:
            fields += [encode_uint(self.chain_id), b"", b""]
        return Hash32(keccak256(rlp_encode(fields)))

    def _enveloped(self, fields: list[RlpItem]) -> bytes:
        return rlp_encode(fields)


class AccessListTransaction(GasPricePayload, frozen=True, kw_only=True):
    """A transaction with an access list (EIP-2930)."""

    type: ClassVar[int] = 1
    signed: ClassVar[tuple[str, ...]] = ("chain_id", *LegacyTransaction.signed, "access_list")

    chain_id: int
    access_list: tuple[Access, ...] = ()


class FeeCapPayload(EthereumPayload, frozen=True, kw_only=True):
    """The common fields of the types with a fee cap and a tip."""

    signed: ClassVar[tuple[str, ...]] = (
        *("chain_id", "nonce", "max_priority_fee_per_gas", "max_fee_per_gas"),
        *("gas_limit", "to", "value", "data", "access_list"),
    )

    chain_id: int
    max_priority_fee_per_gas: int
    max_fee_per_gas: int
    access_list: tuple[Access, ...] = ()

    @property
    def fee_cap(self) -> int:
        """The maximum wei for a unit of gas."""
        return self.max_fee_per_gas

    @property
    def tip(self) -> int:
        """The maximum of it that goes to the block producer."""
        return self.max_priority_fee_per_gas


class FeeMarketTransaction(FeeCapPayload, frozen=True, kw_only=True):
    """A transaction with a fee cap and a tip (EIP-1559)."""

    type: ClassVar[int] = 2
    authorizations: ClassVar[tuple[Authorization, ...]] = ()


class BlobTransaction(FeeCapPayload, frozen=True, kw_only=True):
    """A transaction that names blobs (EIP-4844), as blocks contain it: without the blobs."""

    type: ClassVar[int] = 3
    signed: ClassVar[tuple[str, ...]] = (
        *FeeCapPayload.signed,
        "max_fee_per_blob_gas",
        "blob_hashes",
    )
    authorizations: ClassVar[tuple[Authorization, ...]] = ()

    to: Address
    max_fee_per_blob_gas: int
    blob_hashes: tuple[Hash32, ...] = ()

    @property
    def blob_gas(self) -> int:
        """The blob gas that it uses."""
        return BLOB_GAS * len(self.blob_hashes)


class SetCodeTransaction(FeeCapPayload, frozen=True, kw_only=True):
    """A transaction that sets delegations of accounts (EIP-7702)."""

    type: ClassVar[int] = 4
    signed: ClassVar[tuple[str, ...]] = (*FeeCapPayload.signed, "authorizations")

    to: Address
    authorizations: tuple[Authorization, ...] = ()


EthereumTransaction: TypeAlias = (
    LegacyTransaction
    | AccessListTransaction
    | FeeMarketTransaction
    | BlobTransaction
    | SetCodeTransaction
)


def _item(value: Any) -> RlpItem:
    """Return a field as it is encoded; a struct is a list of its fields."""
    if isinstance(value, int):
        return encode_uint(value)
    if isinstance(value, tuple):
        return [_item(each) for each in value]
    if isinstance(value, msgspec.Struct):
        return [_item(getattr(value, name)) for name in value.__struct_fields__]
    return value or b""
