"""A dispatcher, or namespaces behind one, asked as a client asks."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.jsonrpc.method import Namespace


class RpcError(Exception):
    """The node answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class DispatcherClient:
    """Asks a dispatcher."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def __call__(self, method: str, *params: object) -> Any:
        """Return the result of a method, or raise its error."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        decoded = json.loads(asyncio.run(self.ask(body.encode())))
        if "error" in decoded:
            raise RpcError(decoded["error"])
        return decoded["result"]

    async def ask(self, body: bytes) -> bytes:
        """Return the answer to a request as it came."""
        answer = self._dispatcher.handle(body, LocalConnection())
        settled = answer if isinstance(answer, bytes) or answer is None else await answer
        assert settled is not None
        return settled


class NamespaceClient(DispatcherClient):
    """Asks some namespaces, and nothing else of a node."""

    def __init__(self, *namespaces: Namespace) -> None:
        self._executor = ThreadPoolExecutor(1)
        super().__init__(Dispatcher(list(namespaces), executor=self._executor))

    def close(self) -> None:
        """End the workers."""
        self._executor.shutdown()
