"""Logs that contracts emit, and their bloom filters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import keccak256
from entresol.errors import MalformedValue
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Hash32

if TYPE_CHECKING:
    from entresol._native import RlpItem

MAX_TOPICS: Final = 4
MAX_CACHED_BITS: Final = 4_096
"""Addresses and topics whose bits in a bloom filter are cached: the same few come in most logs."""


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """A log without its location in the chain."""

    address: Address
    topics: tuple[Hash32, ...]
    data: bytes

    @classmethod
    def from_rlp(cls, item: RlpItem, field: str = "log") -> Self:
        """Decode the item that `to_rlp` returns."""
        address, topics, data = rlp.read_fields(item, 3, field)
        hashes = rlp.read_list(topics, f"{field}.topics")
        if len(hashes) > MAX_TOPICS:
            problem = f"a log has at most {MAX_TOPICS} topics, got {len(hashes)}"
            raise MalformedValue(problem, field=f"{field}.topics")
        return cls(
            address=rlp.read_fixed(address, Address, f"{field}.address"),
            topics=tuple(
                rlp.read_fixed(topic, Hash32, f"{field}.topics[{i}]")
                for i, topic in enumerate(hashes)
            ),
            data=rlp.read_bytes(data, f"{field}.data"),
        )

    def to_rlp(self) -> list[RlpItem]:
        """Return the log as an RLP item."""
        return [self.address, list(self.topics), self.data]


def bloom_of(logs: Iterable[Log]) -> Bloom:
    """Return the bloom filter of the addresses and topics of `logs`."""
    bits = 0
    for log in logs:
        bits |= _bits(log.address)
        for topic in log.topics:
            bits |= _bits(topic)
    return Bloom(bits.to_bytes(Bloom.size))


def union(blooms: Iterable[Bloom]) -> Bloom:
    """Return the union of bloom filters."""
    bits = 0
    for bloom in blooms:
        bits |= int.from_bytes(bloom)
    return Bloom(bits.to_bytes(Bloom.size))


@lru_cache(MAX_CACHED_BITS)
def _bits(value: bytes) -> int:
    digest = keccak256(value)
    first, second, third = (int.from_bytes(digest[i : i + 2]) & 0x7FF for i in (0, 2, 4))
    return 1 << first | 1 << second | 1 << third
