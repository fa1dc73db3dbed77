from __future__ import annotations

import msgspec
import pytest

from entresol.chain.rules import ChainRules
from entresol.primitives.interop.bundles import INTEROP_CENTER, INTEROP_HANDLER, MAX_BUNDLE_BYTES

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
