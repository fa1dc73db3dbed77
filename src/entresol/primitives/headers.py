"""Block headers, whose hash any light client can verify: the 16 fields of London, and on an L1 those of later forks."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from entresol._native import keccak256, rlp_decode, rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Hash32, Nonce8

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """The fields that Shanghai, Cancun and Prague added to a header, known before its block is executed.

    A chain without validators has no withdrawals, no requests, and no beacon block.
    """

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
        items = _read_items(item)
        return cls(
            parent_hash=rlp.read_fixed(items[0], Hash32, "parentHash"),
            ommers_hash=rlp.read_fixed(items[1], Hash32, "sha3Uncles"),
            beneficiary=rlp.read_fixed(items[2], Address, "miner"),
            state_root=rlp.read_fixed(items[3], Hash32, "stateRoot"),
            transactions_root=rlp.read_fixed(items[4], Hash32, "transactionsRoot"),
            receipts_root=rlp.read_fixed(items[5], Hash32, "receiptsRoot"),
            logs_bloom=rlp.read_fixed(items[6], Bloom, "logsBloom"),
            difficulty=rlp.read_uint(items[7], 256, "difficulty"),
            number=rlp.read_uint(items[8], 64, "number"),
            gas_limit=rlp.read_uint(items[9], 64, "gasLimit"),
            gas_used=rlp.read_uint(items[10], 64, "gasUsed"),
            timestamp=rlp.read_uint(items[11], 64, "timestamp"),
            extra_data=rlp.read_bytes(items[12], "extraData"),
            mix_hash=rlp.read_fixed(items[13], Hash32, "mixHash"),
            nonce=rlp.read_fixed(items[14], Nonce8, "nonce"),
            base_fee_per_gas=rlp.read_uint(items[15], 256, "baseFeePerGas"),
            **dict(_read_later(items[FIELD_COUNT:])),
        )

    def to_rlp(self) -> list[RlpItem]:
        """Return the header as an RLP item."""
        return [
            self.parent_hash,
            self.ommers_hash,
            self.beneficiary,
            self.state_root,
            self.transactions_root,
            self.receipts_root,
            self.logs_bloom,
            rlp.encode_uint(self.difficulty),
            rlp.encode_uint(self.number),
            rlp.encode_uint(self.gas_limit),
            rlp.encode_uint(self.gas_used),
            rlp.encode_uint(self.timestamp),
            self.extra_data,
            self.mix_hash,
            self.nonce,
            rlp.encode_uint(self.base_fee_per_gas),
            *self._later(),
        ]

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

    def _later(self) -> Iterator[bytes]:
        """Yield the fields after London, up to the first that the header does not have."""
        for name in _LATER:
            value = getattr(self, name)
            if value is None:
                return
            yield rlp.encode_uint(value) if isinstance(value, int) else value

    def hash(self) -> Hash32:
        """Return the block hash, which is computed on every call unless it is given."""
        return hash_of_header(self.encode()) if self.given_hash is None else self.given_hash


_LATER: Final = (
    "withdrawals_root", "blob_gas_used", "excess_blob_gas", "parent_beacon_block_root",
    "requests_hash",
)  # fmt: skip


def _read_items(item: RlpItem) -> list[RlpItem]:
    if not isinstance(item, list):
        raise MalformedValue("a header is an rlp list")
    if not FIELD_COUNT <= len(item) <= MAX_FIELD_COUNT:
        problem = f"a header has {FIELD_COUNT} to {MAX_FIELD_COUNT} items, got {len(item)}"
        raise MalformedValue(problem)
    return item


def _read_later(items: list[RlpItem]) -> Iterator[tuple[str, Any]]:
    for name, item in zip(_LATER, items, strict=False):
        is_number = name in ("blob_gas_used", "excess_blob_gas")
        yield (
            name,
            rlp.read_uint(item, 64, name) if is_number else rlp.read_fixed(item, Hash32, name),
        )


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
