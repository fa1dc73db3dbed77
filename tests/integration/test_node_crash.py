"""A node killed at any moment under load: what it acknowledged over HTTP is there after a restart."""

from __future__ import annotations

import http.client
import os
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest

from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.records import dump
from tests.support.clients.accounts import ALICE, signed_transfer
from tests.support.node_process import ENTRESOL, RunningNode, running_node
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import HttpRpcClient

# ENTRESOL_NODE_KILLS=200 for the long run.
KILLS = int(os.environ.get("ENTRESOL_NODE_KILLS", "20"))
SIGNED_AHEAD = 150
INDEXES = (
    *(tables.RECORD, tables.HASH_OF_NUMBER, tables.TRANSACTION_LOCATION, tables.HASH_OF_NONCE),
    *(tables.ACCOUNT, tables.SLOT, tables.LOGS),
)
MAX_SENT = 40

pytestmark = pytest.mark.slow


class Load:
    """Sends transactions and seals blocks until the node is killed, and records what it acknowledged."""

    def __init__(self, node: RunningNode, randomness: random.Random) -> None:
        self.transactions: list[str] = []
        self.blocks: dict[str, str] = {}
        self._client = HttpRpcClient(node.url)
        nonce = int(self._client("eth_getTransactionCount", ALICE.address, "latest"), 16)
        self._signed = [signed_transfer(nonce + ahead) for ahead in range(SIGNED_AHEAD)]
        self._thread = threading.Thread(target=self._run, args=(randomness,))
        self._thread.start()

    def wait_for(self, count: int) -> None:
        """Wait until so many transactions are acknowledged."""
        eventually(lambda: len(self.transactions) >= count)

    def wait(self) -> None:
        """Wait until the node is killed."""
        self._thread.join()

    def _run(self, randomness: random.Random) -> None:
        try:
            for raw in self._signed:
                self.transactions.append(self._client("eth_sendRawTransaction", raw))
                if randomness.random() < 0.3:
                    self._client("evm_mine")
                    block = self._client("eth_getBlockByNumber", "latest", False)
                    self.blocks[block["number"]] = block["hash"]
        except (OSError, http.client.HTTPException):
            return
        finally:
            self._client.close()


def test_what_was_acknowledged_survives_a_node_that_is_killed(tmp_path: Path) -> None:
    randomness = random.Random(os.environ.get("ENTRESOL_SEED", "entresol"))
    directory = ("--data-dir", str(tmp_path / "chain"), "--log-level", "warning")
    transactions: list[str] = []
    blocks: dict[str, str] = {}
    for _ in range(KILLS):
        with running_node(*directory) as node:
            check(node, transactions, blocks)
            load = Load(node, randomness)
            load.wait_for(randomness.randrange(2, MAX_SENT))
            # Somewhere in the midst of the next one.
            time.sleep(randomness.uniform(0, 0.01))
            node.process.kill()
            load.wait()
            transactions += load.transactions
            blocks |= load.blocks
    assert len(transactions) > KILLS
    with running_node(*directory) as node:
        check(node, transactions, blocks)
        assert node.stop() == 0
    verified = subprocess.run(
        [*ENTRESOL, "verify", *directory[:2]], check=False, timeout=PATIENCE_SECONDS
    )
    assert verified.returncode == 0
    check_indexes(tmp_path / "chain")


def check_indexes(directory: Path) -> None:
    """Check that a store indexes its blocks as one does that is given the records anew."""
    store, follower = Store.open(directory), Store.temporary()
    for record in store.records():
        follower.append(record, [])
    indexed, derived = (
        {key: value for key, value in dump(either).items() if key.startswith(INDEXES)}
        for either in (store, follower)
    )
    store.close()
    follower.close()
    assert indexed == derived


def check(node: RunningNode, transactions: list[str], blocks: dict[str, str]) -> None:
    """Check that everything acknowledged so far is there, in blocks that follow each other."""
    client = HttpRpcClient(node.url)
    for transaction in transactions:
        assert client("eth_getTransactionReceipt", transaction)["status"] == "0x1"
    for number, block_hash in blocks.items():
        assert client("eth_getBlockByNumber", number, False)["hash"] == block_hash
    client.close()
