"""Block headers, whose hash any light client can verify: the 16 fields of London, and on an L1 those of later forks."""

from __future__ import annotations

from hashlib import sha256
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from entresol._native import keccak256, rlp_decode, rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, FixedBytes, Hash32, Nonce8

if TYPE_CHECKING:
    from entresol._native import RlpItem

FIELD_COUNT: Final = 16
MAX_FIELD_COUNT: Final = 21
EMPTY_OMMERS: Final = Hash32(keccak256(rlp_encode([])))
EMPTY_TRIE: Final = Hash32(keccak256(rlp_encode(b"")))
NO_REQUESTS: Final = Hash32(sha256().digest())
"""The hash of no requests (EIP-7685)."""

GIVEN_HASH: Final = 0xA0
"""How a header begins whose hash is given, not computed: a string of 32 bytes in RLP, where others have a list."""

_GIVEN_SIZE: Final = 1 + Hash32.size


class ForkFields(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that Shanghai, Cancun and Prague added to a header, known before its block is executed."""

    withdrawals_root: Hash32 | None = None
    excess_blob_gas: int | None = None
    parent_beacon_block_root: Hash32 | None = None
    requests_hash: Hash32 | None = None


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A block header."""

    parent_hash: Hash32
    ommers_hash: Hash32 = EMPTY_OMMERS
    beneficiary: Address = Address.zero()
    state_root: Hash32
    transactions_root: Hash32 = EMPTY_TRIE
    receipts_root: Hash32 = EMPTY_TRIE
    logs_bloom: Bloom = Bloom.zero()
    difficulty: int = 0
    number: int
    gas_limit: int
    gas_used: int = 0
    timestamp: int
    extra_data: bytes = b""
    mix_hash: Hash32 = Hash32.zero()
    nonce: Nonce8 = Nonce8.zero()
    base_fee_per_gas: int
    # Fields of Shanghai, Cancun and Prague, which an L1 has; each needs those before it.
    withdrawals_root: Hash32 | None = None
    blob_gas_used: int | None = None
    excess_blob_gas: int | None = None
    parent_beacon_block_root: Hash32 | None = None
    requests_hash: Hash32 | None = None
    given_hash: Hash32 | None = None
    """The hash of a block of another chain, which may have fields that are not here; None if it is computed."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes."""
        if not has_given_hash(data):
            return cls.from_rlp(rlp_decode(data))
        header = cls.from_rlp(rlp_decode(data[_GIVEN_SIZE:]))
        return msgspec.structs.replace(header, given_hash=hash_of_header(data))

    @classmethod
    def from_rlp(cls, item: RlpItem) -> Self:
        """Decode the item that `to_rlp` returns."""
        fields = zip(FIELDS, _read_items(item), strict=False)
        return cls(**{name: _read(value, kind, field) for (name, field, kind), value in fields})

    def to_rlp(self) -> list[RlpItem]:
        """Return the header as an RLP item, up to the first field that it does not have."""
        values = takewhile(_is_there, (getattr(self, name) for name, _, _ in FIELDS))
        return [rlp.encode_uint(value) if isinstance(value, int) else value for value in values]

    def fork_fields(self) -> ForkFields:
        """Return the fields after London, except the blob gas used."""
        return ForkFields(
            withdrawals_root=self.withdrawals_root,
            excess_blob_gas=self.excess_blob_gas,
            parent_beacon_block_root=self.parent_beacon_block_root,
            requests_hash=self.requests_hash,
        )

    def encode(self) -> bytes:
        """Return the RLP encoding, whose keccak is the block hash; a hash that is given precedes it."""
        encoded = rlp_encode(self.to_rlp())
        if self.given_hash is None:
            return encoded
        return bytes([GIVEN_HASH]) + self.given_hash + encoded

    def hash(self) -> Hash32:
        """Return the block hash, which is computed on every call unless it is given."""
        return hash_of_header(self.encode()) if self.given_hash is None else self.given_hash


FIELDS: Final[tuple[tuple[str, str, type[FixedBytes] | int | None], ...]] = (
    ("parent_hash", "parentHash", Hash32),
    ("ommers_hash", "sha3Uncles", Hash32),
    ("beneficiary", "miner", Address),
    ("state_root", "stateRoot", Hash32),
    ("transactions_root", "transactionsRoot", Hash32),
    ("receipts_root", "receiptsRoot", Hash32),
    ("logs_bloom", "logsBloom", Bloom),
    ("difficulty", "difficulty", 256),
    ("number", "number", 64),
    ("gas_limit", "gasLimit", 64),
    ("gas_used", "gasUsed", 64),
    ("timestamp", "timestamp", 64),
    ("extra_data", "extraData", None),
    ("mix_hash", "mixHash", Hash32),
    ("nonce", "nonce", Nonce8),
    ("base_fee_per_gas", "baseFeePerGas", 256),
    ("withdrawals_root", "withdrawalsRoot", Hash32),
    ("blob_gas_used", "blobGasUsed", 64),
    ("excess_blob_gas", "excessBlobGas", 64),
    ("parent_beacon_block_root", "parentBeaconBlockRoot", Hash32),
    ("requests_hash", "requestsHash", Hash32),
)
"""The fields in the order of their encoding: here, in JSON, and the kind or the bits of each; bytes of any length have none."""


def _read_items(item: RlpItem) -> list[RlpItem]:
    if not isinstance(item, list):
        raise MalformedValue("a header is an rlp list")
    if not FIELD_COUNT <= len(item) <= MAX_FIELD_COUNT:
        problem = f"a header has {FIELD_COUNT} to {MAX_FIELD_COUNT} items, got {len(item)}"
        raise MalformedValue(problem)
    return item


def _is_there(value: object) -> bool:
    return value is not None


def _read(item: RlpItem, kind: type[FixedBytes] | int | None, field: str) -> Any:
    if kind is None:
        return rlp.read_bytes(item, field)
    if isinstance(kind, int):
        return rlp.read_uint(item, kind, field)
    return rlp.read_fixed(item, kind, field)


def number_and_timestamp(data: bytes) -> tuple[int, int]:
    """Return number and timestamp of an encoded header without decoding the rest."""
    items = _read_items(rlp_decode(data[_GIVEN_SIZE:] if has_given_hash(data) else data))
    return rlp.read_uint(items[8], 64, "number"), rlp.read_uint(items[11], 64, "timestamp")


def has_given_hash(data: bytes) -> bool:
    """Return whether an encoded header has a hash that is given: only the first block of a fork may have one."""
    return len(data) > _GIVEN_SIZE and data[0] == GIVEN_HASH


def hash_of_header(data: bytes) -> Hash32:
    """Return the block hash of an encoded header; every hash of a block comes from here, or from its pair in the crate."""
    return Hash32(data[1:_GIVEN_SIZE] if has_given_hash(data) else keccak256(data))
