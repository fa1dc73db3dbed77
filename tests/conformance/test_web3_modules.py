"""web3.py's own tests of what a node has to do, as they come with the library.

Each test begins with the same chain, of an L2, or of an L1 where the ZK Stack has other rules than geth. Which of
them need an L1, a transaction to wait, or blocks to come by themselves, is in tables here; and so are those that
cannot pass, with the reason. All but the last class are what other nodes are counted by: of those 455 tests 448 pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from web3 import AsyncWeb3, Web3, WebSocketProvider
from web3._utils.module_testing.eth_module import AsyncEthModuleTest, EthModuleTest
from web3._utils.module_testing.go_ethereum_debug_module import (
    GoEthereumAsyncDebugModuleTest,
    GoEthereumDebugModuleTest,
)
from web3._utils.module_testing.go_ethereum_txpool_module import (
    GoEthereumAsyncTxPoolModuleTest,
    GoEthereumTxPoolModuleTest,
)
from web3._utils.module_testing.net_module import AsyncNetModuleTest, NetModuleTest
from web3._utils.module_testing.persistent_connection_provider import (
    PersistentConnectionProviderTest,
)
from web3._utils.module_testing.web3_module import AsyncWeb3ModuleTest, Web3ModuleTest

from tests.support.clients.web3_chain import Prepared, Served

pytestmark = [
    pytest.mark.clients,
    # Calls that the tests add to a batch and then cancel are coroutines that nobody awaits.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]

# Tests by geth's rules of log filters; on the ZK Stack a topic that may be anything may also be missing.
ON_LAYER_ONE = ("get_logs_with_logs_none_topic_args",)
# Tests about transactions that wait.
HELD = ("replace_transaction", "modify_transaction", "receipt_unmined")
# Tests that wait for the next block, whatever is in it.
TICKING = (
    "new_heads",
    "handler_context",
    "handler_and_without",
    "many_subscriptions",
    "run_forever",
)

LONDON_HEADER = "a header has the 16 fields of London, so there is no withdrawalsRoot"
SYNCING = "a subscriber to syncing is notified at once, which races with what the test simulates"
TYPED_DATA = "web3.py unpacks the values of a typed document as pairs before it sends anything"
TEXT_AND_BYTES = "the test compares an address as text with the same address as bytes"
WORDING = "the node says which part of a document is wrong, in other words than eth-account"

# What cannot pass and why, by class and name; parameters count only where they are written.
FAILURES = {
    "TestEth::test_invalid_eth_sign_typed_data": WORDING,
    "TestAsyncEth::test_eth_sign_typed_data": TYPED_DATA,
    "TestAsyncEth::test_invalid_eth_sign_typed_data": TYPED_DATA,
    "TestAsyncEth::test_async_eth_sign_transaction[bytes]": TEXT_AND_BYTES,
}
FAILURES |= {
    f"TestPersistentConnection::test_{name}": LONDON_HEADER
    for name in (
        "async_eth_subscribe_new_heads",
        "async_eth_subscribe_creates_and_handles_new_heads_subscription_type",
        "asyncio_gather_for_multiple_requests_matches_the_responses",
        "async_public_socket_api",
        "async_subscription_manager_subscribes_to_many_subscriptions",
        "run_forever_starts_with_0_subs_and_runs_until_task_cancelled",
    )
}

# What passes or fails by the order in which two messages arrive.
RACES = {"TestPersistentConnection::test_async_eth_subscribe_syncing_mocked[syncing-True]": SYNCING}


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Served:
    """Return the chain of a test, which is started when the first test needs it."""
    is_on_layer_one = any(word in request.node.name for word in ON_LAYER_ONE)
    chosen: Served = request.getfixturevalue("layer_one" if is_on_layer_one else "layer_two")
    return chosen


@pytest.fixture(autouse=True)
def known_failure(request: pytest.FixtureRequest) -> None:
    """Expect a test of the table to fail, and no other but one that may."""
    name = request.node.nodeid.partition("::")[2]
    if name in RACES:
        request.applymarker(pytest.mark.xfail(reason=RACES[name], strict=False))
    reason = FAILURES.get(name) or FAILURES.get(name.partition("[")[0])
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def rpc(w3: Web3, method: str, *params: Any) -> Any:
    response = w3.provider.make_request(method, list(params))  # type: ignore[arg-type]
    assert "error" not in response, response
    return response["result"]


@pytest.fixture(autouse=True)
def same_chain(w3: Web3, prepared: Prepared, request: pytest.FixtureRequest) -> Iterator[None]:
    """Begin with the prepared chain, and revert to it at the end."""
    assert prepared.addresses
    snapshot = rpc(w3, "evm_snapshot")
    name = request.node.name
    if any(word in name for word in HELD) and "already_mined" not in name:
        rpc(w3, "evm_setAutomine", False)
    if any(word in name for word in TICKING):
        rpc(w3, "evm_setIntervalMining", 1)
    yield
    rpc(w3, "evm_setAutomine", True)
    assert rpc(w3, "evm_revert", snapshot)


class TestEth(EthModuleTest):
    """The eth module, synchronous."""


class TestAsyncEth(AsyncEthModuleTest):
    """The eth module, asynchronous."""


class TestNet(NetModuleTest):
    """The net module, synchronous."""


class TestAsyncNet(AsyncNetModuleTest):
    """The net module, asynchronous."""


class TestWeb3(Web3ModuleTest):
    """The web3 module, synchronous."""

    def _check_web3_client_version(self, client_version: str) -> None:  # type: ignore[override]
        assert client_version.startswith("zkSync/v2.0 entresol/v")


class TestAsyncWeb3(AsyncWeb3ModuleTest):
    """The web3 module, asynchronous."""

    def _check_web3_client_version(self, client_version: str) -> None:  # type: ignore[override]
        assert client_version.startswith("zkSync/v2.0 entresol/v")


class TestTxPool(GoEthereumTxPoolModuleTest):
    """The txpool module, synchronous."""


class TestAsyncTxPool(GoEthereumAsyncTxPoolModuleTest):
    """The txpool module, asynchronous."""


class TestDebug(GoEthereumDebugModuleTest):
    """The debug module, synchronous."""


class TestAsyncDebug(GoEthereumAsyncDebugModuleTest):
    """The debug module, asynchronous."""


class TestPersistentConnection(PersistentConnectionProviderTest):
    """Subscriptions over a WebSocket."""

    @pytest.fixture
    def async_w3(self, served: Served, runner: asyncio.Runner) -> Iterator[AsyncWeb3[Any]]:
        socket_url = served.url.replace("http", "ws")

        async def connect() -> AsyncWeb3[Any]:
            web3: AsyncWeb3[Any] = await AsyncWeb3(WebSocketProvider(socket_url))
            return web3

        connected = runner.run(connect())
        yield connected
        runner.run(connected.provider.disconnect())
