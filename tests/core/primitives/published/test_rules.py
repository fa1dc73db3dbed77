"""Block rules: known bytes, round trips, and what is rejected by name."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest
from hypothesis import given

from entresol.errors import NotPublishable, UnknownPublishedVersion
from entresol.primitives.published.limits import MAX_BLOCK_GAS
from entresol.primitives.published.rules import MAX_RULES_BYTES, BlockRules
from entresol.primitives.values import Address
from tests.support.published.values import DEVELOPMENT_RULES, rules

LARGEST: Final = 2**64 - 1


def test_rules_have_the_bytes_of_the_page() -> None:
    assert DEVELOPMENT_RULES.encode().hex() == (
        "01" "05" "8e02" "056f73616b61" "80c001" + "00" * 20
        + "8087a70e" "80c2d72f" "00" "c0843d" "80ea30" "8084af5f" "a0c21e"
    )  # fmt: skip
    assert DEVELOPMENT_RULES.hash().hex() == (
        "d6f8bb34ffd87da4bbfc691b02176e07c7bf5b724804cd7ece46b308f142160f"
    )


@given(rules)
def test_rules_are_read_as_they_were_written(value: BlockRules) -> None:
    assert BlockRules.decode(value.encode()) == value


def test_rules_of_another_version_are_rejected_by_name() -> None:
    with pytest.raises(UnknownPublishedVersion, match=r"rules\.version.*version 2 is not known"):
        BlockRules.decode(b"\x02" + DEVELOPMENT_RULES.encode()[1:])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("chain_id", 0),
        ("chain_id", 2**64),
        ("fork", ""),
        ("fork", "Osaka"),
        ("gas_limit", -1),
        ("gas_limit", MAX_BLOCK_GAS + 1),
        ("max_gas_per_batch", 0),
        ("beneficiary", b"\x01"),
    ],
)
def test_what_cannot_be_published_is_rejected_by_name(field: str, value: object) -> None:
    with pytest.raises(NotPublishable, match=rf"rules\.{field}: "):
        msgspec.structs.replace(DEVELOPMENT_RULES, **{field: value}).encode()


def test_the_longest_rules_take_as_many_bytes_as_the_limit_says() -> None:
    longest = BlockRules(
        chain_id=LARGEST,
        is_development=True,
        fork="f" * 32,
        code_size_limit=LARGEST,
        caps_gas=True,
        gas_limit=MAX_BLOCK_GAS,
        beneficiary=Address(b"\xff" * 20),
        minimal_l2_gas_price=LARGEST,
        compute_overhead_part=LARGEST,
        pubdata_overhead_part=LARGEST,
        batch_overhead_l1_gas=LARGEST,
        max_gas_per_batch=LARGEST,
        max_pubdata_per_batch=LARGEST,
    )
    assert len(longest.encode()) == MAX_RULES_BYTES
