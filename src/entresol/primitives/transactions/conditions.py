"""What has to hold in the block that includes a transaction (EIP-7796)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Self, TypeAlias

import msgspec

from entresol.errors import ConditionNotMet
from entresol.primitives.values import Address, Hash32

_Packed: TypeAlias = tuple[
    int | None, int | None, int | None, int | None, tuple[tuple[bytes, bytes, bytes], ...]
]

_unpack: Final = msgspec.msgpack.Decoder(_Packed).decode


class TransactionConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of the block, both included, and values of slots before the transaction; None bounds nothing."""

    block_number_min: int | None = None
    block_number_max: int | None = None
    timestamp_min: int | None = None
    timestamp_max: int | None = None
    slots: tuple[tuple[Address, Hash32, Hash32], ...] = ()
    """Accounts with a slot and its value."""

    def encode(self) -> bytes:
        """Return the conditions in MessagePack: the bounds, and addresses, slots and values."""
        slots = [tuple(map(bytes, slot)) for slot in self.slots]
        bounds = (
            self.block_number_min,
            self.block_number_max,
            self.timestamp_min,
            self.timestamp_max,
        )
        return msgspec.msgpack.encode((*bounds, slots))

    @classmethod
    def decode(cls, packed: bytes) -> Self:
        """Read what `encode` writes."""
        first, last, earliest, latest, slots = _unpack(packed)
        return cls(
            block_number_min=first,
            block_number_max=last,
            timestamp_min=earliest,
            timestamp_max=latest,
            slots=tuple((Address(a), Hash32(slot), Hash32(value)) for a, slot, value in slots),
        )

    def check(self, number: int, timestamp: int, slot_of: Callable[[bytes, bytes], bytes]) -> None:
        """Raise `ConditionNotMet` for the first that a block, with the slots so far, does not meet."""
        _check_bounds("block number", number, self.block_number_min, self.block_number_max)
        _check_bounds("timestamp", timestamp, self.timestamp_min, self.timestamp_max)
        for address, slot, expected in self.slots:
            found = slot_of(address, slot)
            if found != expected:
                raise ConditionNotMet(
                    f"slot {slot} of {address} is 0x{found.hex()}, not {expected}"
                )


def _check_bounds(what: str, value: int, least: int | None, most: int | None) -> None:
    if least is not None and value < least:
        raise ConditionNotMet(f"the {what} is {value}, and at least {least:d} is wanted")
    if most is not None and value > most:
        raise ConditionNotMet(f"the {what} is {value}, and at most {most:d} is wanted")
