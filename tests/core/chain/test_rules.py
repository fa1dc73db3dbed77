from __future__ import annotations

import msgspec
import pytest

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.fees import FeeConstants, FeeModel
from entresol.chain.rules import ChainRules, block_rules_of
from entresol.primitives.interop_bundles import INTEROP_CENTER, INTEROP_HANDLER, MAX_BUNDLE_BYTES
from entresol.primitives.published.rules import BlockRules

RULES = ChainRules.layer_2()


@pytest.mark.parametrize(
    ("fork", "caps_gas", "expected"),
    [("osaka", False, None), ("osaka", True, 2**24), ("prague", True, None)],
)
def test_a_transaction_has_a_gas_cap_only_if_it_is_enabled_and_from_osaka_on(
    fork: str, *, caps_gas: bool, expected: int | None
) -> None:
    rules = msgspec.structs.replace(RULES, fork=fork, caps_gas=caps_gas)
    assert rules.validation_rules().transaction_gas_limit == expected


@pytest.mark.parametrize(
    ("fork", "limit", "expected"),
    [
        ("osaka", 24_576, 49_152),
        ("osaka", 100_000, 200_000),
        ("osaka", None, None),
        ("paris", 24_576, None),
    ],
)
def test_init_code_may_have_twice_the_size_of_code_from_shanghai_on(
    fork: str, limit: int | None, expected: int | None
) -> None:
    rules = msgspec.structs.replace(RULES, fork=fork, code_size_limit=limit).validation_rules()
    assert rules.init_code_limit_bytes == expected
    assert rules.size_limit_bytes > (expected or 0)


def test_the_largest_bundle_fits_into_a_transaction_that_executes_it_on_an_l2_only() -> None:
    needed = 2 * (MAX_BUNDLE_BYTES + 1)
    assert RULES.validation_rules().size_limit(INTEROP_HANDLER) > needed
    assert RULES.validation_rules().size_limit(INTEROP_CENTER) == 128 * 1024
    assert ChainRules.layer_1().validation_rules().size_limit(INTEROP_HANDLER) == 128 * 1024


def test_what_a_chain_publishes_of_its_rules_is_all_that_its_blocks_follow_from() -> None:
    constants = FeeConstants(
        minimal_l2_gas_price=7,
        compute_overhead_part=1,
        pubdata_overhead_part=2,
        batch_overhead_l1_gas=3,
        max_gas_per_batch=4,
        max_pubdata_per_batch=5,
    )
    rules = msgspec.structs.replace(
        RULES,
        is_development=False,
        fork="prague",
        code_size_limit=None,
        caps_gas=True,
        gas_limit=9,
        beneficiary=INTEROP_CENTER,
        fees=L2BaseFee(FeeModel(constants)),
    )
    published = BlockRules.decode(block_rules_of(rules).encode())
    again = msgspec.structs.replace(RULES, fees=L2BaseFee(FeeModel())).at(published)
    assert block_rules_of(again) == published
    assert isinstance(again.fees, L2BaseFee)
    assert again.fees.constants == constants
    assert msgspec.structs.replace(again, fees=rules.fees) == rules


def test_a_constant_base_fee_is_published_as_the_minimal_price() -> None:
    assert block_rules_of(ChainRules.layer_2(base_fee=7)).minimal_l2_gas_price == 7


def test_an_l1_publishes_no_rules() -> None:
    with pytest.raises(ValueError, match="blocks of an L1 are not published"):
        block_rules_of(ChainRules.layer_1())
