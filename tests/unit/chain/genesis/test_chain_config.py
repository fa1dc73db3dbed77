"""The configuration of a chain by its fork."""

from __future__ import annotations

from typing import get_args

from entresol.chain.genesis.chain_config import FORKS, chain_config
from entresol.node.config.evm import Fork


def test_every_fork_that_can_be_chosen_has_a_configuration() -> None:
    assert get_args(Fork) == FORKS
    sizes = [len(chain_config(1, fork)) for fork in FORKS]
    assert sizes == sorted(set(sizes))


def test_forks_after_that_of_the_chain_are_left_out() -> None:
    config = chain_config(7, "london")
    assert config["londonBlock"] == 0
    assert not {"shanghaiTime", "cancunTime", "blobSchedule"} & config.keys()
