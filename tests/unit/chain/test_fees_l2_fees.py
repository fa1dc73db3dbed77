"""Prices of a layer 2, by the network's formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.chain.fees import MAX_GAS_PER_PUBDATA, FeeConstants, FeeModel, L2BaseFee
from tests.support.chain.dev_chain import open_chain

GWEI = 10**9


def test_gas_costs_a_tenth_of_a_gwei_while_gas_on_l1_costs_one() -> None:
    model = FeeModel(l1_gas_price=GWEI)
    assert model.current().base_fee == model.quoted().base_fee == 100_000_000


def test_the_formula_matches_a_manual_calculation() -> None:
    prices = FeeModel(l1_gas_price=2 * GWEI).quoted()
    assert prices.l1_gas_price == 3 * GWEI
    assert prices.fair_l2_gas_price == 100_000_000
    assert prices.fair_pubdata_price == 17 * 3 * GWEI + 800_000 * 3 * GWEI // 500_000
    assert prices.gas_per_pubdata == -(-prices.fair_pubdata_price // 100_000_000)


def test_the_operators_overhead_parts_are_applied() -> None:
    constants = FeeConstants(compute_overhead_part=0.5, pubdata_overhead_part=0.0)
    prices = FeeModel(constants, GWEI).current()
    assert prices.fair_l2_gas_price == 100_000_000 + (800_000 * GWEI // 200_000_000) // 2
    assert prices.fair_pubdata_price == 17 * GWEI


@pytest.mark.parametrize("gas_price", [0, 7, 100_000_000])
def test_the_gas_price_is_the_operators_whatever_pubdata_costs(gas_price: int) -> None:
    constants = FeeConstants(minimal_l2_gas_price=gas_price)
    prices = FeeModel(constants, l1_gas_price=1_000_000 * GWEI).current()
    assert prices.base_fee == gas_price
    assert prices.gas_per_pubdata <= MAX_GAS_PER_PUBDATA


@given(st.integers(0, 10**20))
def test_prices_are_bounded_whatever_l1_does(l1_gas_price: int) -> None:
    prices = FeeModel(l1_gas_price=l1_gas_price).quoted()
    assert prices.fair_l2_gas_price <= 10**13
    assert prices.fair_pubdata_price <= 10**15
    assert 1 <= prices.gas_per_pubdata <= MAX_GAS_PER_PUBDATA
    assert prices.base_fee * prices.gas_per_pubdata >= prices.fair_pubdata_price


@pytest.mark.parametrize("l1_gas_price", [GWEI, 10**15])
def test_the_next_block_has_the_base_fee_that_follows_from_l1(l1_gas_price: int) -> None:
    model = FeeModel()
    fee = L2BaseFee(model)
    chain = open_chain()
    model.observe(l1_gas_price)
    assert fee.next(chain.head) == FeeModel(l1_gas_price=l1_gas_price).current().base_fee
    chain.close()
