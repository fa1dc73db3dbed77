"""Namespaces behind a dispatcher, asked as a client asks."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from entresol.rpc.connection import LocalConnection
from entresol.rpc.dispatch import Dispatcher
from entresol.rpc.method import Namespace
from tests.unit.rpc.namespaces.conftest import RpcError


class NamespaceClient:
    """Asks some namespaces, and nothing else of a node."""

    def __init__(self, *namespaces: Namespace) -> None:
        self._executor = ThreadPoolExecutor(1)
        self._dispatcher = Dispatcher(list(namespaces), executor=self._executor)

    def __call__(self, method: str, *params: object) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        decoded = json.loads(asyncio.run(self._ask(body.encode())))
        if "error" in decoded:
            raise RpcError(decoded["error"])
        return decoded["result"]

    def close(self) -> None:
        """End the workers."""
        self._executor.shutdown()

    async def _ask(self, body: bytes) -> bytes:
        answer = self._dispatcher.handle(body, LocalConnection())
        settled = answer if isinstance(answer, bytes) or answer is None else await answer
        assert settled is not None
        return settled
