"""An L1 alone, for `entresol anvil`: one chain, and no rollup."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from entresol.features.fork.opening.open_forks import open_forks
from entresol.node.reopening import Reopening

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.terminal.log import NodeLog


async def layer_one(config: NodeConfig, log: NodeLog | None = None) -> Node:
    """Return a node that serves a development L1 as anvil does; the sections `chain` and `evm` describe it."""

    async def open_node(config: NodeConfig, reopening: Reopening) -> Node:
        opening = asyncio.create_task(open_forks(config, is_alone=True))
        # Now it waits for the remote on a thread. Most of the node is imported meanwhile.
        await asyncio.sleep(0)
        from entresol.node.recipes.layer_one_parts import build_layer_one  # noqa: PLC0415

        return build_layer_one(await opening, reopening, log)

    reopening = Reopening(config, open_node)
    node = await open_node(config, reopening)
    reopening.attach(node)
    return node
