"""Chains that publish, in processes of their own: with workers, on another L1, and in a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.anvil import Anvil
from tests.support.clients.accounts import signed_transfer
from tests.support.cluster.nodes import OPERATOR
from tests.support.inprocess_node import inprocess_node
from tests.support.published.on_layer_one import PublishedOnL1
from tests.support.rpc_client import HttpRpcClient, RpcClient

PUBLISHES = ("--data-availability", "calldata", "--settle-interval", "0.05")


def check(l1: RpcClient, l2: RpcClient, count: int) -> None:
    """Check that L1 has the genesis, and everything of a chain with so many transactions."""
    published = PublishedOnL1(l1, l2)
    published.wait()
    batches = published.check()
    found = [
        transaction
        for batch in batches.values()
        for block in batch.blocks
        for transaction in block.transactions
    ]
    assert len(found) == count
    assert published.genesis().rules.chain_id == int(l2("eth_chainId"), 16)


def test_a_node_with_workers_publishes(tmp_path: Path) -> None:
    info = tmp_path / "info.json"
    flags = ("--workers", "2", "--silent", "--config-out", str(info))
    with inprocess_node(*PUBLISHES, *flags, info=info) as node:
        l1, l2 = (
            HttpRpcClient(json.loads(info.read_text())["l1"]["http_url"]),
            HttpRpcClient(node.url),
        )
        for nonce in range(5):
            l2.receipt(l2("eth_sendRawTransaction", signed_transfer(nonce)))
        check(l1, l2, 5)
        l1.close()
        l2.close()


@pytest.mark.peer
def test_a_chain_on_another_l1_publishes_and_goes_on_after_a_restart(
    anvil: Anvil, tmp_path: Path
) -> None:
    flags = (
        *("--l1-url", anvil.url, "--operator-key", str(OPERATOR.secret), "--deploy-l1"),
        *("--accounts", "10", "--l1-confirmations", "0", "--data-dir", str(tmp_path)),
    )
    for start in range(2):
        with inprocess_node(*PUBLISHES, *flags) as node:
            l2 = HttpRpcClient(node.url)
            for nonce in range(3 * start, 3 * start + 3):
                l2.receipt(l2("eth_sendRawTransaction", signed_transfer(nonce)))
            check(anvil, l2, 3 * start + 3)
            l2.close()
