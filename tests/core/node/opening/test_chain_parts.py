from __future__ import annotations

from contextlib import closing

import pytest

from entresol.chain.chain import Chain
from entresol.chain.mining_schedule import MiningMode
from entresol.chain.rules import ChainRules
from entresol.node.config.schema import SETTINGS
from entresol.node.opening.chain_parts import start_mining
from tests.support.chain.dev_chain import GENESIS


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, MiningMode.INTERVAL),
        ({"mixed_mining": True}, MiningMode.MIXED),
        ({"mining": False}, MiningMode.MANUAL),
    ],
)
def test_the_block_time_of_a_preset_gives_way_to_other_mining(
    given: dict[str, object], mode: MiningMode
) -> None:
    config = SETTINGS.load({"preset": "zksync-os", **given}, {}, None)
    with closing(Chain.open(None, ChainRules.layer_2(), GENESIS)) as chain:
        start_mining(chain, config.chain)
        assert chain.schedule.mode is mode
