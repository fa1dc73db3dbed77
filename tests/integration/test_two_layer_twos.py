"""Two L2s on one development L1, assembled from the parts of the recipes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from entresol._native import keccak256
from entresol.chain.genesis.accounts import DevAccount
from entresol.dev.control import DevControl
from entresol.inprocess.loop_thread import LoopThread
from entresol.node.builder import NodeBuilder
from entresol.node.config.schema import ChainConfig, L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.node.node import Node
from entresol.node.open_chains import OPERATOR, open_layer_one, open_layer_two
from entresol.node.parts.layers import (
    embedded_settlement_layer,
    serve_layer_one,
    serve_layer_two,
)
from entresol.node.settlement.rollup import Rollup
from entresol.node.settlement.settlement_layer import development_contracts
from entresol.node.startup.info import NodeInfo
from entresol.primitives.values import Hash32
from entresol.sequencer.local import LocalSequencer
from entresol.server.config import ServerConfig
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, RECEIVER, Pair
from tests.support.rpc_client import HttpRpcClient

OPERATORS = {
    270: OPERATOR,
    271: DevAccount.from_secret(Hash32(keccak256(b"the operator of a second L2"))),
}
CONFIG = NodeConfig(
    l1=L1Config(l1_port=0, l1_delay=0),
    server=ServerConfig(port=0),
    settlement=SettlementSettings(settle_interval=0.1),
)


def two_layer_twos() -> Node:
    """Return a node that serves two L2s and the L1 below them, in this order."""
    with NodeBuilder(CONFIG) as builder:
        opened = []
        for chain_id, operator in OPERATORS.items():
            config = msgspec.structs.replace(CONFIG, chain=ChainConfig(chain_id=chain_id))
            contracts = development_contracts(operator)
            chain, fees = open_layer_two(config, config.l1.l1_chain_id, contracts)
            opened.append((config, operator, builder.opened(chain), fees))
        (_, _, first, _), *others = opened
        registered = {operator: chain for _, operator, chain, _ in others}
        l1_chain = builder.opened(open_layer_one(CONFIG, first, others=registered))
        l1_sequencer = LocalSequencer(l1_chain)
        builder.add(l1_sequencer)
        services = []
        for config, operator, chain, fees in opened:
            sequencer, control = LocalSequencer(chain), builder.opened(DevControl(chain))
            layer = embedded_settlement_layer(l1_chain, l1_sequencer, operator)
            rollup = Rollup(chain, sequencer, layer, fees, config)
            service = serve_layer_two(builder, chain, sequencer, control, fees=fees, rollup=rollup)
            builder.add(sequencer, service, rollup)
            services.append(service)
        control = builder.opened(DevControl(l1_chain))
        layer_one = serve_layer_one(builder, l1_chain, l1_sequencer, control, rollup=None)
        builder.add(layer_one)
        services.append(layer_one)

        def info() -> NodeInfo:
            keyring, address = services[0].api.keyring, services[0].address
            return NodeInfo.of(first, CONFIG, keyring, address, None)

        return builder.build(*services, info=info)


@pytest.fixture
def node() -> Iterator[Node]:
    loop = LoopThread("two L2s")
    loop.start()
    try:
        node = loop.run(_started())
        yield node
        loop.run(node.stop())
    finally:
        loop.stop()


async def _started() -> Node:
    node = two_layer_twos()
    await node.start()
    return node


@pytest.mark.parametrize("chain_id", OPERATORS)
def test_each_of_two_l2s_on_one_l1_serves_takes_a_deposit_and_settles_a_batch(
    node: Node, chain_id: int
) -> None:
    *layer_twos, layer_one = node.services
    (served,) = [it for it in layer_twos if it.chain.rules.chain_id == chain_id]
    (other,) = [it for it in layer_twos if it is not served]
    contracts = development_contracts(OPERATORS[chain_id])
    named = {name: it for name, it in msgspec.structs.asdict(contracts).items() if it is not None}
    clients = [HttpRpcClient(f"http://{it.address}") for it in (layer_one, served, other)]
    pair = Pair(clients[0], clients[1], named, chain_id)
    try:
        assert int(pair.l2("eth_chainId"), 16) == chain_id
        receipt = pair.arrived(pair.deposit(ETHER))
        assert receipt["status"] == "0x1"
        assert int(pair.l2("eth_getBalance", str(RECEIVER), "latest"), 16) == ETHER
        assert clients[2]("eth_getBalance", str(RECEIVER), "latest") == "0x0"
        block = int(receipt["blockNumber"], 16)
        finalized = "eth_getBlockByNumber", "finalized", False
        eventually(lambda: int(pair.l2(*finalized)["number"], 16) >= block)
        assert pair.call_l1(pair.chain, "getTotalBatchesExecuted") >= 1
    finally:
        for client in clients:
            client.close()
