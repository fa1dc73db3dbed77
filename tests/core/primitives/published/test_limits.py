"""The gas limit of a block: room for roots and for the first deposit."""

from __future__ import annotations

import pytest

from entresol.primitives.l1_to_l2_gas import MAX_BODY_GAS, overhead
from entresol.primitives.published.limits import gas_limit_with_room
from tests.support.chain.dev_chain import deposit

OVERHEAD = overhead(deposit(0).abi_size)


@pytest.mark.parametrize(
    ("roots", "gas", "expected"),
    [
        (0, None, 30_000_000),
        (2, 100_000, 30_000_000),
        (0, 30_000_001, 30_000_001),
        (1, 30_000_000, 30_187_600),
        # No L1 accepts more.
        (0, 2**60, MAX_BODY_GAS + OVERHEAD),
    ],
)
def test_a_block_has_room_for_what_has_to_be_first(
    roots: int, gas: int | None, expected: int
) -> None:
    first = None if gas is None else deposit(0, gas_limit=gas)
    assert gas_limit_with_room(30_000_000, roots, first) == expected
