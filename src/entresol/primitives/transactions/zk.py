"""The ZKsync transaction type 0x71: typed-data signatures, paymasters and factory dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Self

import msgspec

from entresol._native import rlp_decode, rlp_encode, zk_signing_hash
from entresol.errors import (
    InvalidBytecode,
    InvalidSignature,
    MalformedTransaction,
    MalformedValue,
    NonceOverflow,
    TooManyFactoryDeps,
)
from entresol.primitives import rlp
from entresol.primitives.bytecode import eravm_hash
from entresol.primitives.transactions.ethereum import Access, Authorization
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from entresol._native import RlpItem

ZK_TYPE: Final = 0x71
FIELD_COUNT: Final = 16
MAX_NONCE: Final = 2**32 - 1
MAX_FACTORY_DEPS: Final = 64
DEFAULT_GAS_PER_PUBDATA: Final = 50_000
"""The gas per pubdata limit of a transaction whose client sets none."""

_FACTORY_DEPS: Final = 13
_PLAIN_V: Final = frozenset({0, 1, 27, 28})


class Paymaster(msgspec.Struct, frozen=True):
    """The account that pays the fee in the sender's place, and its input."""

    address: Address
    input: bytes = b""

    @property
    def pays(self) -> bool:
        """Whether it is one: anybody but the zero address is, and be it the sender itself.

        The crate decides in the same way (`ZkTx::has_paymaster`).
        """
        return any(self.address)


class ZkTransaction(msgspec.Struct, frozen=True, kw_only=True):
    """A transaction that names its sender instead of leaving it to the signature.

    It is signed in one of two forms: `v`, `r` and `s` as in any other type, or a
    `custom_signature`, which wins over the other.
    `v` stays as it was encoded, 0 or 1 by some clients and 27 or 28 by others; without a plain
    signature it is none, and the encoding has the chain id in its place.
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
        try:
            return cls._from_rlp(_read_items(raw[1:]))
        except MalformedValue as error:
            raise MalformedTransaction(error.problem, field=error.field) from None

    @property
    def fee_cap(self) -> int:
        """The most wei it pays for a unit of gas."""
        return self.max_fee_per_gas

    @property
    def tip(self) -> int:
        """The most wei of them that may go to the producer: none.

        Clients set the priority fee to the fee cap if their user has set none, so it is no offer.
        """
        return 0

    @property
    def signature(self) -> bytes:
        """The signature that counts: the custom one, or `r ‖ s ‖ v` with `v` 27 or 28, or none."""
        if self.custom_signature or self.v is None:
            return self.custom_signature
        return self.r.to_bytes(32) + self.s.to_bytes(32) + bytes([27 + self.v % 27])

    def encode(self) -> bytes:
        """Return the raw transaction."""
        fields: list[RlpItem] = [
            rlp.encode_uint(self.nonce),
            rlp.encode_uint(self.max_priority_fee_per_gas),
            rlp.encode_uint(self.max_fee_per_gas),
            rlp.encode_uint(self.gas_limit),
            self.to,
            rlp.encode_uint(self.value),
            self.data,
            rlp.encode_uint(self.chain_id if self.v is None else self.v),
            rlp.encode_uint(self.r),
            rlp.encode_uint(self.s),
            rlp.encode_uint(self.chain_id),
            self.sender,
            rlp.encode_uint(self.gas_per_pubdata_limit),
            list(self.factory_deps),
            self.custom_signature,
            [] if self.paymaster is None else [self.paymaster.address, self.paymaster.input],
        ]
        return bytes([ZK_TYPE]) + rlp_encode(fields)

    def signing_hash(self) -> Hash32:
        """Return the typed-data digest that the sender signs."""
        paymaster = self.paymaster or NO_PAYMASTER
        digest = zk_signing_hash(
            chain_id=self.chain_id,
            sender=self.sender,
            to=self.to,
            gas_limit=self.gas_limit,
            gas_per_pubdata_limit=self.gas_per_pubdata_limit,
            max_fee_per_gas=self.max_fee_per_gas,
            max_priority_fee_per_gas=self.max_priority_fee_per_gas,
            paymaster=paymaster.address,
            nonce=self.nonce,
            value=self.value,
            data=self.data,
            factory_dep_hashes=self.factory_dep_hashes(),
            paymaster_input=paymaster.input,
        )
        return Hash32(digest)

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
        if len(self.factory_deps) > MAX_FACTORY_DEPS:
            raise TooManyFactoryDeps(len(self.factory_deps), MAX_FACTORY_DEPS)
        return tuple(_dep_hash(i, code) for i, code in enumerate(self.factory_deps))

    def with_signature(self, signature: bytes) -> Self:
        """Return this transaction signed with `r ‖ s ‖ parity`, parity being 0 or 1."""
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
        return msgspec.structs.replace(self, v=signature[64], r=r, s=s, custom_signature=b"")

    @classmethod
    def _from_rlp(cls, items: list[RlpItem]) -> Self:
        chain_id = rlp.read_uint(items[10], 64, "chainId")
        v, r, s = _read_signature(items[7:10], chain_id)
        return cls(
            nonce=_read_nonce(items[0]),
            max_priority_fee_per_gas=rlp.read_uint(items[1], 128, "maxPriorityFeePerGas"),
            max_fee_per_gas=rlp.read_uint(items[2], 128, "maxFeePerGas"),
            gas_limit=rlp.read_uint(items[3], 64, "gasLimit"),
            to=_read_target(items[4]),
            value=rlp.read_uint(items[5], 256, "value"),
            data=rlp.read_bytes(items[6], "data"),
            v=v,
            r=r,
            s=s,
            chain_id=chain_id,
            sender=rlp.read_fixed(items[11], Address, "from"),
            gas_per_pubdata_limit=rlp.read_uint(items[12], 64, "gasPerPubdata"),
            factory_deps=tuple(
                rlp.read_bytes(code, f"factoryDeps[{i}]")
                for i, code in enumerate(rlp.read_list(items[13], "factoryDeps"))
            ),
            custom_signature=rlp.read_bytes(items[14], "customSignature"),
            paymaster=_read_paymaster(items[15]),
        )


NO_PAYMASTER: Final = Paymaster(Address.zero())


def has_factory_deps(raw: bytes) -> bool:
    """Return whether a transaction has factory dependencies; costs a tenth of decoding all of it."""
    return bool(_read_items(raw[1:])[_FACTORY_DEPS])


def _dep_hash(index: int, code: bytes) -> Hash32:
    try:
        return eravm_hash(code)
    except InvalidBytecode as error:
        raise MalformedTransaction(f"factory dependency #{index} is invalid: {error}") from error


def _read_items(data: bytes) -> list[RlpItem]:
    item = rlp_decode(data)
    if not isinstance(item, list):
        raise MalformedValue("a transaction of type 0x71 is an rlp list")
    if len(item) != FIELD_COUNT:
        # Clients of the network match on the first words.
        raise MalformedValue(
            "decodeRlpError RlpIncorrectListLen: "
            f"a transaction of type 0x71 has {FIELD_COUNT} items, got {len(item)}"
        )
    return item


def _read_nonce(item: RlpItem) -> int:
    nonce = rlp.read_uint(item, 64, "nonce")
    if nonce > MAX_NONCE:
        raise NonceOverflow
    return nonce


def _read_target(item: RlpItem) -> Address:
    if item == b"":
        raise MalformedValue(
            "toAddressIsNull: a transaction of type 0x71 cannot go without one", field="to"
        )
    return rlp.read_fixed(item, Address, "to")


def _read_signature(items: list[RlpItem], chain_id: int) -> tuple[int | None, int, int]:
    v = rlp.read_uint(items[0], 64, "v")
    r = rlp.read_uint(items[1], 256, "r")
    s = rlp.read_uint(items[2], 256, "s")
    if v == chain_id and r == s == 0:
        return None, 0, 0
    if v not in _PLAIN_V:
        raise InvalidSignature(f"v is 0, 1, 27 or 28, got {v}")
    return v, r, s


def _read_paymaster(item: RlpItem) -> Paymaster | None:
    if item == []:
        return None
    address, message = rlp.read_fields(item, 2, "paymasterParams")
    return Paymaster(
        rlp.read_fixed(address, Address, "paymasterParams.paymaster"),
        rlp.read_bytes(message, "paymasterParams.paymasterInput"),
    )
