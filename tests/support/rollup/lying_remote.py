"""A remote L1 without a network: the development L1 behind the JSON-RPC client, with lies in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from entresol._native import keccak256
from entresol.l1.json_rpc_client import JsonRpcClient
from entresol.l1.layer_one import LayerOne
from entresol.l1.remote_layer_one import RemoteLayerOne
from entresol.l1.urls import Endpoint
from tests.support.chain.api_client import ApiClient
from tests.support.rollup.layer_ones import Embedded

URL = "http://l1.example"
CALL = "eth_call"

RpcLie: TypeAlias = Callable[[Any], Any]
"""Returns another result than the true one."""


def call_name(method: str, params: list[Any]) -> str:
    """Return the name of a request: its method, with the selector of a call, so that each view has a name of its own."""
    return f"{method} {params[0]['data'][:10]}" if method == CALL else method


def view(signature: str) -> str:
    """Return the name of the call of a view function."""
    return f"{CALL} 0x{keccak256(signature.encode())[:4].hex()}"


class LyingClient(JsonRpcClient):
    """Responds by the API of a chain in this process; lies about one kind of request, or about none."""

    def __init__(self, api: ApiClient) -> None:
        super().__init__(Endpoint(URL), attempts=1, timeout=1.0, sleep=asyncio.sleep)
        self.lie: tuple[str, RpcLie] | None = None
        """The name of the requests that it lies about, and the lie."""
        self.error: tuple[str, dict[str, Any]] | None = None
        """The name of the requests that it rejects, and the error."""
        self.truths: dict[str, Any] = {}
        """The last true result of each kind of request that is not empty."""
        self.requests: Counter[str] = Counter()
        self.sent: list[bytes] = []
        """The transactions that came, whatever became of them."""
        self._api = api

    def tell_truth(self) -> None:
        self.lie = self.error = None

    async def exchange(self, body: bytes, max_bytes: int) -> tuple[int, bytes]:
        """Respond to a request, perhaps with a lie."""
        del max_bytes
        request = msgspec.json.decode(body)
        name = call_name(request["method"], request["params"])
        self.requests[name] += 1
        if request["method"] == "eth_sendRawTransaction":
            self.sent.append(bytes.fromhex(request["params"][0][2:]))
        if self.error is not None and self.error[0] == name:
            return 200, msgspec.json.encode({"error": self.error[1]})
        response = await self._api.handle(body)
        document = msgspec.json.decode(response)
        if "result" not in document:
            return 200, response
        if document["result"]:
            self.truths[name] = document["result"]
        if self.lie is not None and self.lie[0] == name:
            document["result"] = self.lie[1](document["result"])
        return 200, msgspec.json.encode(document)


class LyingRemote(Embedded):
    def __init__(self) -> None:
        super().__init__()
        self.api = ApiClient(self.chain)
        self.client = LyingClient(self.api)
        self.l1: LayerOne = RemoteLayerOne(URL, client=self.client)

    def close(self) -> None:
        self.api.api.close()
        self.chain.close()
