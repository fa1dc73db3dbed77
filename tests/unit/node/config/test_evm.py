from __future__ import annotations

import pytest

from entresol.errors import InvalidConfig
from entresol.node.config.schema import SETTINGS, NodeConfig


def loaded(**values: str) -> NodeConfig:
    return SETTINGS.load(values, {})


def test_the_defaults_are_those_of_anvil() -> None:
    evm, blocks = loaded().evm, loaded().l1_blocks
    assert evm.code_size_limit == 0x6000
    assert not evm.enable_tx_gas_limit
    assert (blocks.l1_gas_limit, blocks.l1_base_fee) == (30_000_000, 10**9)


@pytest.mark.parametrize(
    ("name", "value"),
    [("l1_hardfork", "london"), ("code_size_limit", "0"), ("l1_block_time", "0")],
)
def test_what_the_settlement_contracts_or_blocks_cannot_do_is_rejected(
    name: str, value: str
) -> None:
    with pytest.raises(InvalidConfig, match=f"--{name.replace('_', '-')}"):
        loaded(**{name: value})
