"""Chains of a running node that others replace, at the same ports."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

import msgspec
import pytest

from entresol.node.config.schema import ChainConfig, NodeConfig
from entresol.node.node import Node
from entresol.node.open_node import open_layer_one_node
from entresol.node.reopening import Reopening
from entresol.server.config import ServerConfig
from tests.support.polling import PATIENCE_SECONDS

CONFIG = NodeConfig(server=ServerConfig(port=0))


def with_chain(**settings: Any) -> NodeConfig:
    return msgspec.structs.replace(CONFIG, chain=ChainConfig(**settings))


async def opened(config: NodeConfig, _: Reopening) -> Node:
    return await open_layer_one_node(config)


async def ask(port: int, method: str) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}", body, headers)

    def sent() -> Any:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return json.load(response)["result"]

    return await asyncio.get_running_loop().run_in_executor(None, sent)


async def test_another_chain_is_served_at_the_same_port() -> None:
    reopening = Reopening(with_chain(chain_id=5), opened)
    node = await opened(reopening.config, reopening)
    reopening.attach(node)
    await node.start()
    try:
        port, before = node.layer_two.port, node.chain
        assert await ask(port, "eth_chainId") == "0x5"
        await reopening.reopen(with_chain(chain_id=6))
        assert await ask(port, "eth_chainId") == "0x6"
        assert node.layer_two.port == port
        assert node.chain is not before
        assert reopening.ports == {port}
    finally:
        await reopening.close()
        await node.stop()


async def test_chains_that_cannot_be_opened_leave_the_node_as_it_was() -> None:
    reopening = Reopening(with_chain(chain_id=5), opened)
    node = await opened(reopening.config, reopening)
    reopening.attach(node)
    await node.start()
    try:
        with pytest.raises(Exception, match="mnemonic"):
            await reopening.reopen(with_chain(mnemonic="no words"))
        assert await ask(node.layer_two.port, "eth_chainId") == "0x5"
    finally:
        await node.stop()
