"""The base fee of the next block."""

from __future__ import annotations

import pytest

from entresol.chain.base_fee import ConstantBaseFee, Eip1559BaseFee
from entresol.primitives.headers import Header
from entresol.primitives.values import Hash32


def parent(*, gas_used: int, base_fee: int, gas_limit: int = 30_000_000) -> Header:
    return Header(
        parent_hash=Hash32.zero(),
        state_root=Hash32.zero(),
        number=1,
        gas_limit=gas_limit,
        gas_used=gas_used,
        timestamp=1,
        base_fee_per_gas=base_fee,
    )


def test_a_constant_fee_does_not_move() -> None:
    assert ConstantBaseFee(7).next(parent(gas_used=30_000_000, base_fee=99)) == 7


@pytest.mark.parametrize(
    ("gas_used", "base_fee", "expected"),
    [
        (15_000_000, 1_000, 1_000),
        (30_000_000, 1_000, 1_125),
        (0, 1_000, 875),
        (22_500_000, 1_000, 1_062),
        (30_000_000, 1, 2),
        (0, 1, 1),
        (15_000_001, 0, 1),
    ],
)
def test_a_market_fee_follows_how_full_the_block_was(
    gas_used: int, base_fee: int, expected: int
) -> None:
    assert Eip1559BaseFee().next(parent(gas_used=gas_used, base_fee=base_fee)) == expected


def test_the_base_fee_does_not_fall_below_its_minimum() -> None:
    assert Eip1559BaseFee(lowest=900).next(parent(gas_used=0, base_fee=1_000)) == 900


def test_a_block_without_room_leaves_the_fee() -> None:
    assert Eip1559BaseFee().next(parent(gas_used=0, base_fee=5, gas_limit=1)) == 5
