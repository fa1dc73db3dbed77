"""Nodes to which no chain can be added."""

from __future__ import annotations

import pytest

from entresol.errors import ChainNotAdded
from entresol.features.adding.feature import AddingFeature
from entresol.features.adding.methods import NewChainFields
from entresol.features.workers.settings import WorkersConfig
from entresol.node.config.schema import NodeConfig
from entresol.node.feature import NodePlan
from entresol.primitives.values import Quantity
from entresol.rpc.types.number import Number


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (NodeConfig().with_(WorkersConfig, workers=2), "--workers"),
        (NodeConfig(), "the node has none"),
    ],
)
async def test_a_node_that_can_have_no_more_chains_says_why(
    config: NodeConfig, reason: str
) -> None:
    control = AddingFeature(NodePlan(config)).control
    with pytest.raises(ChainNotAdded, match=reason):
        await control.add_chain(NewChainFields(chain_id=Number(Quantity(300))))
