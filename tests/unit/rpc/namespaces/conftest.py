"""A chain behind a dispatcher, asked as a client asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from entresol.chain.accounts import DevAccount
from entresol.chain.chain import Chain
from entresol.chain.keyring import Keyring
from entresol.node.assembly import Api
from entresol.node.config import ApiConfig
from entresol.primitives.values import Hash32
from entresol.rpc.connection import LocalConnection
from tests.unit.chain.test_chain import SECRETS, open_chain

ACCOUNTS = [DevAccount.from_secret(Hash32(secret)) for secret in SECRETS]


class RpcError(Exception):
    """The node answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.data: Any = error.get("data")


class Client:
    """Asks a dispatcher, and shows the chain behind it."""

    def __init__(
        self, chain: Chain, *, keyring: Keyring | None = None, config: ApiConfig | None = None
    ) -> None:
        self.chain = chain
        self.api = Api(chain, wake=lambda: None, keyring=keyring, config=config)

    def __call__(self, method: str, *params: object) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        decoded = json.loads(asyncio.run(self.ask(body.encode())))
        if "error" in decoded:
            raise RpcError(decoded["error"])
        return decoded["result"]

    async def ask(self, body: bytes) -> bytes:
        answer = self.api.dispatcher.handle(body, LocalConnection())
        settled = answer if isinstance(answer, bytes) or answer is None else await answer
        assert settled is not None
        return settled


@pytest.fixture
def client() -> Iterator[Client]:
    chain = open_chain()
    client = Client(chain, keyring=Keyring(ACCOUNTS))
    yield client
    client.api.close()
    chain.close()
