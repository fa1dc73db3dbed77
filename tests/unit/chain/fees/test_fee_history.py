"""What blocks cost."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from entresol.chain.chain import Chain
from entresol.chain.fees.fee_history import FeeHistory, effective_tip, fee_history
from entresol.errors import InvalidPercentiles
from entresol.primitives.transactions import Transaction
from tests.support.chain.dev_chain import FEE, deposit, seal_block, transaction


@pytest.fixture
def chain(manual: Chain) -> Chain:
    return manual


def test_the_base_fees_go_one_block_further(chain: Chain) -> None:
    chain.seal()
    chain.seal()
    history = fee_history(chain.blocks, chain.next_base_fee(), 2, newest=2)
    assert history == FeeHistory(
        oldest=1, base_fees=(FEE, FEE, FEE), gas_used_ratios=(0.0, 0.0), rewards=((), ())
    )


def test_the_history_ends_at_genesis(chain: Chain) -> None:
    chain.seal()
    history = fee_history(chain.blocks, chain.next_base_fee(), 100, newest=1)
    assert history.oldest == 0
    assert len(history.gas_used_ratios) == 2


def test_the_ratio_is_at_most_one(chain: Chain) -> None:
    # As blocks were built once: the transaction uses all of its gas, which is more than their limit.
    heavy = replace(deposit(0, gas_limit=72_000_000), to_mint=0)
    executed = seal_block(chain.ledger, Transaction.from_l1(heavy))
    assert executed.header.gas_used > executed.header.gas_limit
    (ratio,) = fee_history(chain.blocks, chain.next_base_fee(), 1, newest=1).gas_used_ratios
    assert ratio == 1.0


def test_the_ratio_is_of_the_gas_limit(chain: Chain) -> None:
    chain.submit(transaction(0).raw)
    header = chain.seal()
    (ratio,) = fee_history(chain.blocks, chain.next_base_fee(), 1, newest=1).gas_used_ratios
    assert ratio == 21_000 / header.gas_limit


def test_tips_are_weighted_by_gas_in_order_of_size(chain: Chain) -> None:
    for sender, tip in enumerate((30, 10, 20)):
        chain.submit(transaction(0, by=sender, tip=tip).raw)
    chain.seal()
    (rewards,) = fee_history(
        chain.blocks, chain.next_base_fee(), 1, 1, [0, 33, 34, 67, 100]
    ).rewards
    assert rewards == (10, 10, 20, 30, 30)


def test_a_block_without_transactions_has_no_tips(chain: Chain) -> None:
    chain.seal()
    assert fee_history(chain.blocks, chain.next_base_fee(), 1, 1, [10, 90]).rewards == ((0, 0),)


def test_a_deposit_has_no_tip(chain: Chain) -> None:
    chain.enqueue(deposit(0))
    chain.seal()
    assert fee_history(chain.blocks, chain.next_base_fee(), 1, 1, [50]).rewards == ((0,),)


@pytest.mark.parametrize(
    ("percentiles", "complaint"),
    [
        ([101], "each is from 0 to 100, got 101"),
        ([-1], "each is from 0 to 100, got -1"),
        ([50, 40], "they must not fall, got 40 after 50"),
        ([float("nan")], "each is from 0 to 100, got nan"),
        ([50] * 101, "at most 100 are allowed, got 101"),
    ],
)
def test_percentiles_that_are_none_are_rejected(
    chain: Chain, percentiles: list[float], complaint: str
) -> None:
    with pytest.raises(InvalidPercentiles, match=complaint):
        fee_history(chain.blocks, chain.next_base_fee(), 1, 0, percentiles)


@pytest.mark.parametrize(
    ("fee_cap", "tip", "base_fee", "expected"), [(10, 3, 5, 3), (10, 8, 5, 5), (4, 2, 5, 0)]
)
def test_a_tip_is_what_the_cap_leaves(fee_cap: int, tip: int, base_fee: int, expected: int) -> None:
    assert effective_tip(fee_cap, tip, base_fee) == expected
