"""Several L2s on one development L1."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from entresol.inprocess.loop_thread import LoopThread
from entresol.node.config.ecosystem import EcosystemConfig
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.node.config.settlement import SettlementSettings
from entresol.node.node import Node
from entresol.node.recipes.ecosystem import open_ecosystem
from entresol.node.settlement.settlement_layer import development_contracts
from entresol.server.config import ServerConfig
from tests.support.clients.accounts import ALICE
from tests.support.node_process import running_node
from tests.support.polling import eventually
from tests.support.rollup.pair import ETHER, RECEIVER, Pair
from tests.support.rpc_client import HttpRpcClient, get
from tests.support.workers import clients_of

CHAINS = (270, 271)
CONFIG = NodeConfig(
    ecosystem=EcosystemConfig(chains=("2",)),
    l1=L1Config(l1_port=0, l1_delay=0),
    server=ServerConfig(port=0),
    settlement=SettlementSettings(settle_interval=0.1),
)


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
    node = await open_ecosystem(CONFIG)
    await node.start()
    return node


@pytest.mark.parametrize("chain_id", CHAINS)
def test_each_of_two_l2s_on_one_l1_serves_takes_a_deposit_and_settles_a_batch(
    node: Node, chain_id: int
) -> None:
    layer_one = node.layer_one
    assert layer_one is not None
    (served,) = [
        layer_two for layer_two in node.layer_twos if layer_two.chain.rules.chain_id == chain_id
    ]
    (other,) = [layer_two for layer_two in node.layer_twos if layer_two is not served]
    contracts = development_contracts(CHAINS.index(chain_id))
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


def test_every_worker_serves_every_chain(tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    flags = ("--chains", "2", "--workers", "2", "--log-level", "warning")
    with running_node(*flags, "--config-out", str(info), info=info) as running:
        chains = json.loads(info.read_text())["chains"]
        for value, it in enumerate(chains, start=1):
            with clients_of(running, it["http_url"]) as clients:
                producer, *workers = clients
                transfer = {"from": ALICE.address, "to": str(RECEIVER), "value": hex(value)}
                sent = producer("eth_sendTransaction", transfer)
                for client in (producer, *workers):
                    assert int(client("eth_chainId"), 16) == it["chain_id"]
                    assert int(client("eth_getBalance", str(RECEIVER), "latest"), 16) == value
                    assert client("eth_getTransactionReceipt", sent)["status"] == "0x1"
                (worker,) = workers
                assert worker("zks_getMainContract") == it["contract"]
                worker("evm_mine")
                assert producer("eth_blockNumber") == "0x2"
                chain_id = str(it["chain_id"])
                for _ in clients:
                    # Whichever process accepts the connection.
                    health = json.loads(get(f"{it['http_url']}/health"))
                    assert health["chains"] == dict.fromkeys(("270", "271", "31337"))
                    metrics = get(f"{it['http_url']}/metrics").decode()
                    assert f'entresol_head_block{{chain="{chain_id}"}} 2\n' in metrics
                    assert f'entresol_workers{{chain="{chain_id}"}} 1\n' in metrics
