"""What a transaction demands of its block."""

from __future__ import annotations

import pytest

from entresol.errors import ConditionNotMet, InvalidTransaction
from entresol.primitives.transactions.conditions import TransactionConditions
from entresol.primitives.values import Address, Hash32

SOME = Address(b"\x11" * 20)
SLOT, VALUE, OTHER = (Hash32(bytes([it]) * 32) for it in (1, 2, 3))


def value_of(_address: bytes, _slot: bytes) -> bytes:
    return bytes(VALUE)


@pytest.mark.parametrize(
    "conditions",
    [
        TransactionConditions(),
        TransactionConditions(block_number_min=5, block_number_max=5),
        TransactionConditions(timestamp_min=100, timestamp_max=100),
        TransactionConditions(slots=((SOME, SLOT, VALUE),)),
    ],
)
def test_bounds_are_included_and_slots_are_compared(conditions: TransactionConditions) -> None:
    conditions.check(5, 100, value_of)


@pytest.mark.parametrize(
    "conditions",
    [
        TransactionConditions(block_number_min=6),
        TransactionConditions(block_number_max=4),
        TransactionConditions(timestamp_min=101),
        TransactionConditions(timestamp_max=99),
        TransactionConditions(slots=((SOME, SLOT, VALUE), (SOME, SLOT, OTHER))),
    ],
)
def test_the_first_that_does_not_hold_is_named(conditions: TransactionConditions) -> None:
    with pytest.raises(ConditionNotMet, match="transaction rejected: ") as rejection:
        conditions.check(5, 100, value_of)
    assert isinstance(rejection.value, InvalidTransaction)


@pytest.mark.parametrize(
    "conditions",
    [
        TransactionConditions(),
        TransactionConditions(block_number_min=0, timestamp_max=2**64 - 1),
        TransactionConditions(block_number_max=7, slots=((SOME, SLOT, VALUE), (SOME, OTHER, SLOT))),
    ],
)
def test_what_is_packed_is_read_again(conditions: TransactionConditions) -> None:
    assert TransactionConditions.decode(conditions.encode()) == conditions
