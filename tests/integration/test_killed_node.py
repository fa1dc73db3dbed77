"""A node killed at any moment under load: what it acknowledged over HTTP is there when it starts again."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.accounts import ALICE, signed_transfer
from tests.support.node_process import ENTRESOL, RunningNode, running_node
from tests.support.polling import PATIENCE_SECONDS, eventually

# ENTRESOL_NODE_KILLS=200 for the long run.
KILLS = int(os.environ.get("ENTRESOL_NODE_KILLS", "20"))
SIGNED_AHEAD = 150
MOST_SENT = 40

pytestmark = pytest.mark.slow


class Caller:
    """One connection to a node."""

    def __init__(self, node: RunningNode) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", node.port, timeout=PATIENCE_SECONDS
        )

    def ask(self, method: str, *params: object) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
        answer = json.loads(self._connection.getresponse().read())
        assert "result" in answer, answer
        return answer["result"]

    def close(self) -> None:
        self._connection.close()


class Load:
    """Sends transactions and seals blocks until the node is gone, and notes what it acknowledged."""

    def __init__(self, node: RunningNode, randomness: random.Random) -> None:
        self.transactions: list[str] = []
        self.blocks: dict[str, str] = {}
        self._caller = Caller(node)
        nonce = int(self._caller.ask("eth_getTransactionCount", ALICE.address, "latest"), 16)
        self._signed = [signed_transfer(nonce + ahead) for ahead in range(SIGNED_AHEAD)]
        self._thread = threading.Thread(target=self._run, args=(randomness,))
        self._thread.start()

    def wait_for(self, count: int) -> None:
        """Wait until so many transactions are acknowledged."""
        eventually(lambda: len(self.transactions) >= count)

    def wait(self) -> None:
        """Wait until the node is gone."""
        self._thread.join()

    def _run(self, randomness: random.Random) -> None:
        try:
            for raw in self._signed:
                self.transactions.append(self._caller.ask("eth_sendRawTransaction", raw))
                if randomness.random() < 0.3:
                    self._caller.ask("evm_mine")
                    block = self._caller.ask("eth_getBlockByNumber", "latest", False)
                    self.blocks[block["number"]] = block["hash"]
        except (OSError, http.client.HTTPException, ValueError):
            return
        finally:
            self._caller.close()


def test_what_was_acknowledged_survives_a_node_that_is_killed(tmp_path: Path) -> None:
    randomness = random.Random(os.environ.get("ENTRESOL_SEED", "entresol"))
    directory = ("--data-dir", str(tmp_path / "chain"), "--log-level", "warning")
    transactions: list[str] = []
    blocks: dict[str, str] = {}
    for _ in range(KILLS):
        with running_node(*directory) as node:
            check(node, transactions, blocks)
            load = Load(node, randomness)
            load.wait_for(randomness.randrange(2, MOST_SENT))
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


def check(node: RunningNode, transactions: list[str], blocks: dict[str, str]) -> None:
    """Check that everything acknowledged so far is there, in blocks that follow each other."""
    caller = Caller(node)
    for transaction in transactions:
        assert caller.ask("eth_getTransactionReceipt", transaction)["status"] == "0x1"
    for number, block_hash in blocks.items():
        assert caller.ask("eth_getBlockByNumber", number, False)["hash"] == block_hash
    caller.close()
