"""Prices of a layer 2, by the network's formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.fees import LARGEST_BASE_FEE, MAX_GAS_PER_PUBDATA, FeeConstants, FeeModel
from entresol.primitives.base_token import EtherPrice
from entresol.storage.block_rows import Prices
from tests.support.chain.dev_chain import open_chain

GWEI = 10**9


def test_the_formula_matches_a_manual_calculation() -> None:
    prices = FeeModel(l1_gas_price=2 * GWEI).quoted()
    assert prices.l1_gas_price == 3 * GWEI
    assert prices.fair_l2_gas_price == 100_000_000
    assert prices.fair_pubdata_price == 17 * 3 * GWEI + 800_000 * 3 * GWEI // 500_000
    assert prices.gas_per_pubdata == -(-prices.fair_pubdata_price // 100_000_000)


def test_the_operators_overhead_parts_are_applied() -> None:
    constants = FeeConstants(compute_overhead_part=500_000, pubdata_overhead_part=0)
    prices = FeeModel(constants, GWEI).current()
    assert prices.fair_l2_gas_price == 100_000_000 + (800_000 * GWEI // 200_000_000) // 2
    assert prices.fair_pubdata_price == 17 * GWEI


@pytest.mark.parametrize("gas_price", [0, 7, 100_000_000])
def test_the_gas_price_is_the_operators_whatever_pubdata_costs(gas_price: int) -> None:
    constants = FeeConstants(minimal_l2_gas_price=gas_price)
    prices = FeeModel(constants, l1_gas_price=1_000_000 * GWEI).current()
    assert prices.base_fee == gas_price
    assert prices.gas_per_pubdata <= MAX_GAS_PER_PUBDATA


@pytest.mark.parametrize("l1_gas_price", [GWEI, 10**15])
def test_the_next_block_has_the_base_fee_that_follows_from_l1(l1_gas_price: int) -> None:
    model = FeeModel()
    fee = L2BaseFee(model)
    chain = open_chain()
    model.observe(l1_gas_price)
    assert fee.next(chain.head) == FeeModel(l1_gas_price=l1_gas_price).current().base_fee
    chain.close()


LARGEST = 2**128 - 1
numbers = st.integers(1, LARGEST) | st.sampled_from([1, 10**18, 2**64, LARGEST])
ether_prices = st.builds(EtherPrice, numbers, numbers)


@pytest.mark.parametrize(
    ("price", "base_fee", "pubdata_price"),
    [
        (EtherPrice(3000, 1), 300_000_000_000, 3000 * 18_600_000_000),
        (EtherPrice(1, 3), 33_333_334, 6_200_000_000),
        # 3000 tokens of six decimals.
        (EtherPrice(3, 10**9), 1, 56),
        # 3000 tokens without decimals.
        (EtherPrice(3, 10**15), 1, 1),
    ],
)
def test_every_price_of_the_l2_is_that_in_ether_times_the_price_of_ether_rounded_up(
    price: EtherPrice, base_fee: int, pubdata_price: int
) -> None:
    prices = FeeModel(l1_gas_price=GWEI, ether_price=price).current()
    assert prices.base_fee == prices.fair_l2_gas_price == base_fee
    assert prices.fair_pubdata_price == pubdata_price
    assert prices.l1_gas_price == GWEI, "what L1 takes is ether"


def test_gas_without_a_price_has_none_in_a_token_either() -> None:
    free = FeeConstants(minimal_l2_gas_price=0)
    prices = FeeModel(free, ether_price=EtherPrice(LARGEST, 1)).quoted()
    assert (prices.base_fee, prices.gas_per_pubdata) == (0, 1)


def test_a_new_price_of_ether_changes_what_is_known_and_is_reported_once() -> None:
    model, reported = FeeModel(), list[int]()
    model.repriced.add(lambda: reported.append(model.current().base_fee))
    assert model.current().base_fee == 10**8
    model.set_ether_price(EtherPrice(3, 1))
    model.set_ether_price(EtherPrice(3, 1))
    model.set_ether_price(EtherPrice())
    assert reported == [3 * 10**8, 10**8]


@pytest.mark.parametrize("price", [EtherPrice(LARGEST, 1), EtherPrice(2**64, 10**8)])
def test_a_price_of_ether_that_no_block_can_hold_is_rejected_and_the_last_one_stays(
    price: EtherPrice,
) -> None:
    model = FeeModel(ether_price=EtherPrice(7, 1))
    with pytest.raises(
        ValueError, match=r"the base fee is \d+ units, and a block holds at most 2\^64"
    ):
        model.set_ether_price(price)
    assert model.ether_price == EtherPrice(7, 1)
    assert model.current().base_fee == 7 * 10**8


def follows(model: FeeModel, price: EtherPrice) -> bool:
    try:
        model.set_ether_price(price)
    except ValueError:
        return False
    return True


@given(ether_prices, st.integers(0, 10**16))
def test_prices_in_any_token_are_at_least_a_unit_and_fit_where_they_are_kept(
    price: EtherPrice, l1_gas_price: int
) -> None:
    model = FeeModel()
    model.observe(l1_gas_price)
    assert follows(model, price) is (price.units(10**8) <= LARGEST_BASE_FEE)
    for prices in (model.current(), model.quoted()):
        assert 1 <= prices.base_fee == prices.fair_l2_gas_price <= LARGEST_BASE_FEE
        assert 1 <= prices.gas_per_pubdata <= MAX_GAS_PER_PUBDATA
        assert prices.base_fee * prices.gas_per_pubdata >= prices.fair_pubdata_price
        assert (prices.fair_pubdata_price > 0) is (l1_gas_price > 0)
    assert Prices.unpack(model.prices().pack()) == model.prices()


@given(ether_prices, ether_prices, st.integers(0, 10**16), st.integers(0, 10**16))
def test_a_dearer_ether_or_a_dearer_l1_makes_nothing_cheaper(
    one: EtherPrice, other: EtherPrice, l1_one: int, l1_other: int
) -> None:
    low, high = sorted((one, other), key=lambda it: it.units(2**256))
    models = FeeModel(), FeeModel()
    for model, l1_gas_price, price in zip(
        models, sorted((l1_one, l1_other)), (low, high), strict=True
    ):
        model.observe(l1_gas_price)
        if not follows(model, price):
            return
    cheap, dear = (model.current() for model in models)
    assert cheap.fair_l2_gas_price <= dear.fair_l2_gas_price
    assert cheap.fair_pubdata_price <= dear.fair_pubdata_price
