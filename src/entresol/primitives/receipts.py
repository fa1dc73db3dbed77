"""Receipts and logs in their consensus encoding, which the receipts root commits to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import logs_bloom, rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Hash32

if TYPE_CHECKING:
    from entresol._native import RlpItem


MAX_TOPICS: Final = 4
FIELD_COUNT: Final = 4

_NO_BLOOM: Final = Bloom.zero()

# Types of L1 transactions that equal the first byte of a list longer than 2^48 bytes. There is no
# such list, so the byte is a type.
_HIGH_TYPES: Final = frozenset({0xFE, 0xFF})


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
    return Bloom(logs_bloom([(log.address, log.topics) for log in logs]))


def union(blooms: Iterable[Bloom]) -> Bloom:
    """Return the union of bloom filters."""
    bits = 0
    for bloom in blooms:
        bits |= int.from_bytes(bloom)
    return Bloom(bits.to_bytes(Bloom.size))


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The receipt of a transaction."""

    type: int
    succeeded: bool
    cumulative_gas_used: int
    bloom: Bloom
    logs: tuple[Log, ...]

    @classmethod
    def of(
        cls,
        transaction_type: int,
        *,
        succeeded: bool,
        cumulative_gas_used: int,
        logs: tuple[Log, ...],
    ) -> Self:
        """Return a receipt with the bloom of its logs."""
        return cls(
            type=transaction_type,
            succeeded=succeeded,
            cumulative_gas_used=cumulative_gas_used,
            bloom=bloom_of(logs) if logs else _NO_BLOOM,
            logs=logs,
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes."""
        if not data:
            raise MalformedValue("a receipt is not empty")
        typed = 0 < data[0] < 0x80 or data[0] in _HIGH_TYPES
        body = data[1:] if typed else data
        status, gas, bloom, logs = rlp.decode_fields(body, FIELD_COUNT, "a receipt")
        return cls(
            type=data[0] if typed else 0,
            succeeded=_read_status(status),
            cumulative_gas_used=rlp.read_uint(gas, 64, "cumulativeGasUsed"),
            bloom=rlp.read_fixed(bloom, Bloom, "logsBloom"),
            logs=tuple(
                Log.from_rlp(log, f"logs[{i}]") for i, log in enumerate(rlp.read_list(logs, "logs"))
            ),
        )

    def encode(self) -> bytes:
        """Return the typed encoding, or the bare list of a legacy receipt."""
        body = rlp_encode(
            [
                rlp.encode_uint(self.succeeded),
                rlp.encode_uint(self.cumulative_gas_used),
                self.bloom,
                [log.to_rlp() for log in self.logs],
            ]
        )
        return body if self.type == 0 else bytes([self.type]) + body


def _read_status(item: RlpItem) -> bool:
    status = rlp.read_uint(item, 8, "status")
    if status > 1:
        raise MalformedValue(f"a status is 0 or 1, got {status}", field="status")
    return status == 1
