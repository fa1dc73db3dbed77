"""The transaction types of Ethereum: legacy, access list, fee market, blob and set code."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

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
        raise NotImplementedError

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

    def _signed_fields(self) -> list[RlpItem]:
        return [
            encode_uint(self.nonce),
            encode_uint(self.gas_price),
            encode_uint(self.gas_limit),
            self.to or b"",
            encode_uint(self.value),
            self.data,
        ]

    def _enveloped(self, fields: list[RlpItem]) -> bytes:
        return rlp_encode(fields)


class AccessListTransaction(GasPricePayload, frozen=True, kw_only=True):
    """A transaction with an access list (EIP-2930)."""

    type: ClassVar[int] = 1

    chain_id: int
    access_list: tuple[Access, ...] = ()

    def _signed_fields(self) -> list[RlpItem]:
        return [
            encode_uint(self.chain_id),
            encode_uint(self.nonce),
            encode_uint(self.gas_price),
            encode_uint(self.gas_limit),
            self.to or b"",
            encode_uint(self.value),
            self.data,
            _access_items(self.access_list),
        ]


class FeeCapPayload(EthereumPayload, frozen=True, kw_only=True):
    """The common fields of the types with a fee cap and a tip."""

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

    def _signed_fields(self) -> list[RlpItem]:
        return [
            encode_uint(self.chain_id),
            encode_uint(self.nonce),
            encode_uint(self.max_priority_fee_per_gas),
            encode_uint(self.max_fee_per_gas),
            encode_uint(self.gas_limit),
            self.to or b"",
            encode_uint(self.value),
            self.data,
            _access_items(self.access_list),
        ]


class FeeMarketTransaction(FeeCapPayload, frozen=True, kw_only=True):
    """A transaction with a fee cap and a tip (EIP-1559)."""

    type: ClassVar[int] = 2
    authorizations: ClassVar[tuple[Authorization, ...]] = ()


class BlobTransaction(FeeCapPayload, frozen=True, kw_only=True):
    """A transaction that names blobs (EIP-4844), as blocks contain it: without the blobs."""

    type: ClassVar[int] = 3
    authorizations: ClassVar[tuple[Authorization, ...]] = ()

    to: Address
    max_fee_per_blob_gas: int
    blob_hashes: tuple[Hash32, ...] = ()

    @property
    def blob_gas(self) -> int:
        """The blob gas that it uses."""
        return BLOB_GAS * len(self.blob_hashes)

    def _signed_fields(self) -> list[RlpItem]:
        return [
            *super()._signed_fields(),
            encode_uint(self.max_fee_per_blob_gas),
            list(self.blob_hashes),
        ]


class SetCodeTransaction(FeeCapPayload, frozen=True, kw_only=True):
    """A transaction that sets delegations of accounts (EIP-7702)."""

    type: ClassVar[int] = 4

    to: Address
    authorizations: tuple[Authorization, ...] = ()

    def _signed_fields(self) -> list[RlpItem]:
        return [*super()._signed_fields(), [_authorization_item(a) for a in self.authorizations]]


EthereumTransaction: TypeAlias = (
    LegacyTransaction
    | AccessListTransaction
    | FeeMarketTransaction
    | BlobTransaction
    | SetCodeTransaction
)


def _access_items(access_list: tuple[Access, ...]) -> list[RlpItem]:
    return [[access.account, list(access.slots)] for access in access_list]


def _authorization_item(authorization: Authorization) -> list[RlpItem]:
    return [
        encode_uint(authorization.chain_id),
        authorization.address,
        encode_uint(authorization.nonce),
        encode_uint(authorization.y_parity),
        encode_uint(authorization.r),
        encode_uint(authorization.s),
    ]
