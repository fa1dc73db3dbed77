"""The past of a fork, which its remote has: who waits for it, and who does not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.support.anvil import Anvil
from tests.support.fork.proxy import FaultyProxy, faulty_proxy
from tests.support.fork.remote_anvil import RemoteAnvil, remote_anvil
from tests.support.inprocess_node import inprocess_anvil
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rpc_client import HttpRpcClient


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteAnvil]:
    with remote_anvil(is_real=False) as found:
        yield found


@pytest.fixture(scope="module")
def proxy(remote: RemoteAnvil) -> Iterator[FaultyProxy]:
    with faulty_proxy(remote.url) as found:
        yield found


@pytest.fixture(scope="module")
def fork(remote: RemoteAnvil, proxy: FaultyProxy) -> Iterator[Anvil]:
    """Return a fork that has called the counter once and mined a block."""
    flags = ("-f", f"{proxy.url}@{remote.number}", "--no-storage-caching")
    with inprocess_anvil("anvil", *flags) as node:
        node("eth_sendTransaction", {"from": remote.accounts[0], "to": remote.counter})
        node("anvil_mine", "0x1")
        yield node


def test_waiting_for_the_past_does_not_hold_up_others(
    remote: RemoteAnvil, fork: Anvil, proxy: FaultyProxy
) -> None:
    """Two hundred calls of the past wait for a slow remote, while local ones are served."""
    proxy.latency = 0.2
    try:
        with ThreadPoolExecutor(1) as pool, closing(HttpRpcClient(fork.url)) as slow:
            calls = [("eth_getBalance", [f"0x{number:040x}", "0x3"]) for number in range(1, 200)]
            waiting = pool.submit(slow.batch, calls)
            served = 0
            while not waiting.done():
                fork("eth_getBalance", remote.accounts[0], "latest")
                fork("eth_call", {"to": remote.counter}, "latest")
                served += not waiting.done()
            assert waiting.result(PATIENCE_SECONDS) == ["0x0"] * 199
        assert served > 1
    finally:
        proxy.latency = 0.0
