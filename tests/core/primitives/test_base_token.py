from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.primitives.base_token import EtherPrice

_SIZES = st.integers(1, 2**128 - 1)


def test_a_price_in_tokens_of_18_decimals_is_the_ratio_that_people_say() -> None:
    assert EtherPrice.of_tokens(Fraction(628, 17), 18) == EtherPrice(628, 17)


def test_a_price_counts_the_smallest_units_of_a_token_with_other_decimals() -> None:
    assert EtherPrice.of_tokens(Fraction(3000), 6) == EtherPrice(3, 10**9)


@given(st.integers(0, 2**256 - 1), _SIZES, _SIZES)
def test_an_amount_of_ether_is_rounded_up_to_units_of_the_token(
    wei: int, nominator: int, denominator: int
) -> None:
    units = EtherPrice(nominator, denominator).units(wei)

    assert 0 <= units - Fraction(wei * nominator, denominator) < 1


@pytest.mark.parametrize(
    ("nominator", "denominator"), [(0, 1), (1, 0), (2**128, 1), (1, 2**128), (-1, 1)]
)
def test_a_price_that_l1_cannot_hold_is_rejected(nominator: int, denominator: int) -> None:
    with pytest.raises(ValueError, match="from 1 to"):
        EtherPrice(nominator, denominator)
