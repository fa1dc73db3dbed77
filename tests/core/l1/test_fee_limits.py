"""What the operator's transactions offer for gas, and the limits of it."""

from __future__ import annotations

import pytest

from entresol.errors import L1FeeTooHigh
from entresol.l1.fee_limits import GWEI, FeeCeiling, FeeLimits, TxFees
from entresol.l1.layer_one import L1Fees

LIMITS = FeeLimits(max_fee=500 * GWEI, multiplier=5.0)
FEES = L1Fees(30 * GWEI, 2 * GWEI)
RICH = 10**30


def test_a_new_transaction_has_room_for_a_base_fee_that_doubles() -> None:
    assert LIMITS.first(FEES) == TxFees(62 * GWEI, 2 * GWEI)


def test_a_new_transaction_offers_no_more_than_the_absolute_limit() -> None:
    assert LIMITS.first(L1Fees(400 * GWEI, GWEI)) == TxFees(500 * GWEI, GWEI)


@pytest.mark.parametrize(
    ("base_fee", "suggested", "offered"),
    [(7, 10**18, 3 * GWEI), (GWEI, 500 * GWEI, 3 * GWEI), (40 * GWEI, 500 * GWEI, 40 * GWEI)],
)
def test_a_tip_is_in_proportion_to_the_base_fee(
    base_fee: int, suggested: int, offered: int
) -> None:
    fees = L1Fees(base_fee, suggested)
    assert LIMITS.first(fees) == TxFees(2 * base_fee + offered, offered)
    assert LIMITS.plausible(fees).gas_price == base_fee + offered


def test_a_base_fee_above_the_absolute_limit_is_an_error_that_names_the_flag() -> None:
    with pytest.raises(L1FeeTooHigh, match=r"above 500 gwei, the limit of --l1-max-fee-gwei"):
        LIMITS.first(L1Fees(501 * GWEI, GWEI))


@pytest.mark.parametrize(
    ("limits", "affordable", "expected"),
    [
        (LIMITS, RICH, FeeCeiling(310 * GWEI, "--l1-fee-multiplier")),
        (FeeLimits(max_fee=100 * GWEI), RICH, FeeCeiling(100 * GWEI, "--l1-max-fee-gwei")),
        (LIMITS, 70 * GWEI, FeeCeiling(70 * GWEI, "the operator's balance")),
    ],
)
def test_the_lowest_limit_is_the_ceiling(
    limits: FeeLimits, affordable: int, expected: FeeCeiling
) -> None:
    assert limits.ceiling(FEES, affordable) == expected


def test_an_idle_l1_that_suggests_no_tip_leaves_room_for_one() -> None:
    assert LIMITS.ceiling(L1Fees(7, 0), RICH) == FeeCeiling(5 * (14 + GWEI), "--l1-fee-multiplier")


def test_replacements_stop_at_the_ceiling() -> None:
    fees, offered = LIMITS.first(FEES), []
    while True:
        following = LIMITS.replacement(fees, FEES, LIMITS.ceiling(FEES, RICH))
        if following is None:
            break
        assert following.max_fee * 100 > fees.max_fee * 110
        assert following.tip * 100 > fees.tip * 110
        fees = following
        offered.append(fees.max_fee)
    assert 280 * GWEI < offered[-1] <= 310 * GWEI
    assert len(offered) == 7


def test_replacements_go_on_when_l1_becomes_more_expensive() -> None:
    stuck = TxFees(310 * GWEI, 12 * GWEI)
    assert LIMITS.replacement(stuck, FEES, LIMITS.ceiling(FEES, RICH)) is None
    dearer = L1Fees(200 * GWEI, 2 * GWEI)
    replacement = LIMITS.replacement(stuck, dearer, LIMITS.ceiling(dearer, RICH))
    assert replacement == TxFees(402 * GWEI, 15 * GWEI + 1)
