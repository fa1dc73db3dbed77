"""web3.py's own tests of what a node has to do, as they come with the library.

Each test begins with the same chain. Those that need a transaction to wait, or blocks to come by
themselves, say so in a table here; and so do those that cannot pass, with the reason.
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

from tests.conformance.web3_chain import Prepared
from tests.integration.nodes import RunningNode

pytestmark = [
    pytest.mark.clients,
    # Calls that the tests add to a batch and then cancel are coroutines that nobody awaits.
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]

# Tests about transactions that wait.
HELD = ("replace_transaction", "modify_transaction", "receipt_unmined")
# Tests that wait for the next block, whatever is in it.
TICKING = ("new_heads",)


def rpc(w3: Web3, method: str, *params: Any) -> Any:
    answer = w3.provider.make_request(method, list(params))  # type: ignore[arg-type]
    assert "error" not in answer, answer
    return answer["result"]


@pytest.fixture(autouse=True)
def same_chain(w3: Web3, prepared: Prepared, request: pytest.FixtureRequest) -> Iterator[None]:
    """Begin with the prepared chain, and go back to it at the end."""
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
        assert client_version.startswith("entresol/")


class TestAsyncWeb3(AsyncWeb3ModuleTest):
    """The web3 module, asynchronous."""

    def _check_web3_client_version(self, client_version: str) -> None:  # type: ignore[override]
        assert client_version.startswith("entresol/")


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
    def async_w3(self, node: RunningNode, runner: asyncio.Runner) -> Iterator[AsyncWeb3[Any]]:
        async def connect() -> AsyncWeb3[Any]:
            return await AsyncWeb3(WebSocketProvider(node.url.replace("http", "ws")))

        connected = runner.run(connect())
        yield connected
        runner.run(connected.provider.disconnect())
