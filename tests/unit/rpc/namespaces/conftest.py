"""A chain behind a dispatcher, asked as a client asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.rpc.connection import LocalConnection
from entresol.rpc.dispatch import Dispatcher
from entresol.rpc.namespaces.basics import EthBasics, Net, Web3
from entresol.rpc.namespaces.eth_blocks import EthBlocks
from entresol.rpc.namespaces.eth_calls import EthCalls
from entresol.rpc.namespaces.eth_fees import EthFees
from entresol.rpc.namespaces.eth_state import EthState
from entresol.rpc.namespaces.eth_transactions import EthTransactions
from entresol.rpc.places import Places
from entresol.rpc.shapes.views import Views
from tests.unit.chain.test_chain import open_chain


class RpcError(Exception):
    """The node answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.data: Any = error.get("data")


class Client:
    """Asks a dispatcher, and shows the chain behind it."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        places = Places(chain)
        views = Views(
            chain.rules.chain_id,
            chain.ledger.store,
            chain.pool,
            lambda: chain.pending().finish(chain.ledger.trie),
        )
        self.dispatcher = Dispatcher(
            [
                EthBasics(chain),
                EthBlocks(chain, places, views),
                EthCalls(places),
                EthFees(chain, places),
                EthState(chain, places),
                EthTransactions(chain, places, views),
                Net(chain),
                Web3(),
            ]
        )

    def __call__(self, method: str, *params: object) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        decoded = json.loads(asyncio.run(self.ask(body.encode())))
        if "error" in decoded:
            raise RpcError(decoded["error"])
        return decoded["result"]

    async def ask(self, body: bytes) -> bytes:
        answer = self.dispatcher.handle(body, LocalConnection())
        settled = answer if isinstance(answer, bytes) or answer is None else await answer
        assert settled is not None
        return settled


@pytest.fixture
def client() -> Iterator[Client]:
    chain = open_chain()
    yield Client(chain)
    chain.close()
