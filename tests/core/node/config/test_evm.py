from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS, NodeConfig


def loaded(**values: str) -> NodeConfig:
    return SETTINGS.load(values, {})


@pytest.mark.parametrize(
    ("name", "value"), [("l1_hardfork", "london"), ("code_size_limit", "0"), ("l1_block_time", "0")]
)
def test_what_the_settlement_contracts_or_blocks_cannot_do_is_rejected(
    name: str, value: str
) -> None:
    with pytest.raises(InvalidConfig, match=f"--{name.replace('_', '-')}"):
        loaded(**{name: value})
