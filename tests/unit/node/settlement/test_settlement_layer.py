"""What the settings of an L1 mean."""

from __future__ import annotations

import pytest

from entresol.l1.fee_limits import GWEI, FeeLimits
from entresol.node.config.schema import SETTINGS
from entresol.node.settlement.settlement_layer import fee_limits, required_confirmations


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, 0),
        ({"l1_url": "http://l1"}, 12),
        ({"l1_url": "http://l1", "l1_confirmations": "0"}, 0),
        ({"l1_confirmations": "3"}, 3),
        ({"l1_url": "http://l1", "l1_finality": "safe"}, 0),
        ({"l1_url": "http://l1", "l1_finality": "finalized"}, 0),
        ({"l1_url": "http://l1", "l1_finality": "safe", "l1_confirmations": "5"}, 5),
    ],
)
def test_blocks_of_a_remote_l1_need_confirmations(arguments: dict[str, str], expected: int) -> None:
    assert required_confirmations(SETTINGS.load(arguments, {}).l1) == expected


def test_fee_limits_are_set_in_gwei() -> None:
    config = SETTINGS.load({"l1_max_fee_gwei": "0.5", "l1_fee_multiplier": "3"}, {})
    assert fee_limits(config.l1) == FeeLimits(max_fee=GWEI // 2, multiplier=3.0)
