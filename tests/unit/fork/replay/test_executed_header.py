"""Headers of remote blocks, as their executions need them."""

from __future__ import annotations

import pytest

from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.fork.replay.executed_header import executed_header
from entresol.primitives.anchor import INITIAL_BASE_FEE, header_of_block


def block(**more: str) -> dict[str, str]:
    return {"number": "0x5", "hash": f"0x{5:064x}"} | more


@pytest.mark.parametrize(
    ("hardfork", "expected"), [("byzantium", 0), ("berlin", 0), ("london", INITIAL_BASE_FEE)]
)
def test_a_block_before_london_has_no_base_fee(hardfork: str, expected: int) -> None:
    header = executed_header(header_of_block(block()), hardfork)
    assert header.base_fee_per_gas == expected


@pytest.mark.parametrize("given", [{}, {"gasLimit": "0x0"}])
def test_a_block_that_says_no_gas_limit_has_any(given: dict[str, str]) -> None:
    header = executed_header(header_of_block(block(**given)), "osaka")
    assert header.gas_limit == MAX_GAS_LIMIT


def test_a_header_keeps_its_hash_and_what_it_says() -> None:
    given = header_of_block(block(gasLimit="0x7", baseFeePerGas="0x9"))
    assert executed_header(given, "london") == given
