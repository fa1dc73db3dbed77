"""Deposits that use all the gas of a block: other clients are served between the blocks."""

from __future__ import annotations

import pytest

from tests.robustness.heavy_deposits import deposit_heavily
from tests.support.rollup.pair import running_pair

pytestmark = pytest.mark.slow

DEPOSITS = 10


def test_a_client_sees_the_blocks_of_heavy_deposits_one_after_the_other() -> None:
    with running_pair("--l1-delay", "1") as pair:
        gas = int(pair.l2("eth_getBlockByNumber", "latest", False)["gasLimit"], 16)
        poller, _ = deposit_heavily(pair, DEPOSITS, gas)
        assert int(pair.l2("eth_blockNumber"), 16) >= DEPOSITS
    # Before the first, after the last, and some in between.
    assert len(poller.heads) > 3
