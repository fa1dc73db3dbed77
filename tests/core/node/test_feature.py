"""The whole API of a chain."""

from __future__ import annotations

import gc
import weakref

from tests.support.chain.api_client import TARGET, running_api


def test_nothing_of_a_chain_stays_when_its_api_is_closed() -> None:
    with running_api() as client:
        # The crate calls functions of the chain for each of these.
        client("eth_blockNumber")
        client("eth_getBlockByNumber", "latest", False)
        client("eth_call", {"to": TARGET}, "latest")
        client("eth_feeHistory", 1, "latest", [])
        chain, services = weakref.ref(client.chain), weakref.ref(client.api.services)
    del client
    gc.collect()
    assert chain() is None
    assert services() is None
