"""Deposits that use all the gas of a block: other clients are served between the blocks."""

from __future__ import annotations

import threading

import pytest

from entresol.primitives.values import Address
from tests.support.rollup.pair import ETHER, running_pair
from tests.support.rpc_client import HttpRpcClient

pytestmark = pytest.mark.slow

DEPOSITS = 10
BURNER = Address(b"\xb0" * 20)
ENDLESS_LOOP = "0x5b5f56"
OVERHEAD = 10_000


def test_a_client_sees_the_blocks_of_heavy_deposits_one_after_the_other() -> None:
    heads: set[str] = set()
    stopped = threading.Event()

    def poll(url: str) -> None:
        client = HttpRpcClient(url)
        while not stopped.wait(0.005):
            heads.add(client("eth_blockNumber"))
        client.close()

    with running_pair("--l1-delay", "1") as pair:
        gas = int(pair.l2("eth_getBlockByNumber", "latest", False)["gasLimit"], 16) + OVERHEAD
        pair.l2("anvil_setCode", str(BURNER), ENDLESS_LOOP)
        heavy = {"to": BURNER, "gas_limit": gas, "fee": ETHER // 10}
        sent = [pair.deposit(0, **heavy) for _ in range(DEPOSITS)]  # type: ignore[arg-type]
        poller = threading.Thread(target=poll, args=(pair.l2.url,))
        poller.start()
        statuses = {pair.arrived(transaction)["status"] for transaction in sent}
        stopped.set()
        poller.join()
        assert statuses == {"0x0"}, "the loop ended"
        assert int(pair.l2("eth_blockNumber"), 16) >= DEPOSITS
    # Before the first, after the last, and some in between.
    assert len(heads) > 3
