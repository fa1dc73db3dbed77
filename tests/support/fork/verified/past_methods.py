"""The methods of a node that ask a fork's remote for its past."""

from __future__ import annotations

import asyncio
from functools import cache

from entresol.node.config.schema import NodeConfig
from entresol.node.recipes.ecosystem import ecosystem
from entresol.rpc.jsonrpc.method import Past


@cache
def past_methods() -> dict[str, Past]:
    """Return what a fork does with the past, by the name of each method that asks for it."""
    node = ecosystem(NodeConfig())
    try:
        methods = [
            method for one in node.services for method in one.api.dispatcher.methods.values()
        ]
    finally:
        asyncio.run(node.stop())
    return {method.name: method.past for method in methods if method.past not in (None, Past.LOCAL)}
