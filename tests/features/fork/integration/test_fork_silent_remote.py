"""Both layers of a node whose L2 is a fork of a chain that stops responding, which nobody else waits for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from entresol import devnet
from entresol.sequencer import warming
from tests.support.fork.proxy import faulty_proxy
from tests.support.polling import PATIENCE_SECONDS, eventually
from tests.support.rpc_client import health_of

STRANGER: Final = "0x" + "12" * 20
"""An account that only the remote knows of."""
SILENCE_SECONDS: Final = 1_000.0


def test_a_deposit_on_a_silent_remote_is_named_and_blocks_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stays first, transactions of others are in blocks, and it is executed once the remote responds."""
    monkeypatch.setattr(warming, "REST_SECONDS", 0.1)
    with devnet() as remote, faulty_proxy(remote.l2.url) as proxy, ThreadPoolExecutor(1) as thread:
        settings: dict[str, Any] = {"fork_timeout": 0.5, "fork_retries": 0}
        with devnet(fork_url=[proxy.url], no_storage_caching=True, **settings) as net:
            proxy.latency = SILENCE_SECONDS
            deposit = thread.submit(net.bridge.deposit, 10**16, to=STRANGER, gas=1_000_000)
            eventually(lambda: health_of(net.l2.url)[1]["status"] == "degraded")
            reason = health_of(net.l2.url)[1]["reason"]
            assert reason.startswith("deposit 0x")
            assert proxy.url in reason
            sender, to = (account.address for account in net.accounts[1:3])
            sent = net.l2.request(
                "eth_sendTransaction", {"from": sender, "to": to, "gas": "0x5208"}
            )
            receipt = net.l2.request("eth_getTransactionReceipt", sent)
            assert receipt["transactionIndex"] == "0x0"
            assert not deposit.done()
            proxy.latency = 0.0
            deposit.result(PATIENCE_SECONDS)
            assert net.l2.request("eth_getBalance", STRANGER, "latest") == hex(10**16)
            eventually(lambda: health_of(net.l2.url)[1]["status"] == "ready")
