"""Work that a block does in vain is bounded, whoever is to blame."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.robustness import free_work
from tests.support.contracts.layer_two import FEE

VAIN = [name for name in free_work.WAYS if not name.startswith("an execution")]
MAX_MILLISECONDS = 150.0
"""Of processor time: thrice what a block may take for what it rejects. 16 of them took 1,700."""


@pytest.mark.parametrize("name", VAIN)
def test_a_block_spends_little_on_what_nobody_pays_for(name: str) -> None:
    cost = free_work.measure(free_work.WAYS[name], 16)
    assert cost.paid == 0
    assert cost.pool_ms + cost.block_ms < MAX_MILLISECONDS


@pytest.mark.parametrize(
    "way",
    [free_work.out_of_gas, free_work.burning_post, free_work.burning_request],
    ids=["in the execution", "in postTransaction", "in a priority transaction"],
)
def test_what_uses_up_its_gas_is_paid_for(
    way: Callable[[free_work.World, int], free_work.Prepared],
) -> None:
    assert free_work.measure(way, 1).paid > free_work.GAS * FEE * 9 // 10


def test_a_priority_transaction_that_cannot_start_has_paid_and_takes_nothing() -> None:
    cost = free_work.measure(free_work.unstarted_request, 1)
    assert cost.paid == free_work.GAS * FEE
    assert cost.block_ms < MAX_MILLISECONDS
