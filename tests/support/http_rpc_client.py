"""A client that hides nothing: every answer as it came."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from tests.support.rpc_client import RpcError

REQUEST_SECONDS = 60.0


class Asker:
    """One connection to a node."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=REQUEST_SECONDS)

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of a method, or raise its error."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.post(request)
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]

    def post(self, document: Any) -> Any:
        """Return what the node answers to any JSON."""
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/", json.dumps(document), headers)
        return json.load(self._connection.getresponse())

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()
