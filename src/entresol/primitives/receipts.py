"""Receipts in their consensus encoding, which the receipts root commits to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import rlp_encode
from entresol.errors import MalformedValue
from entresol.primitives import rlp
from entresol.primitives.logs import Log, bloom_of
from entresol.primitives.values import Bloom

if TYPE_CHECKING:
    from entresol._native import RlpItem

FIELD_COUNT: Final = 4

_NO_BLOOM: Final = Bloom.zero()

# Types of L1 transactions that equal the first byte of a list longer than 2^48 bytes. There is no
# such list, so the byte is a type.
_HIGH_TYPES: Final = frozenset({0xFE, 0xFF})


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
