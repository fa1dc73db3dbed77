"""web3.py over a client of tests, so that both use one connection."""

from __future__ import annotations

from typing import Any

import msgspec
from web3 import Web3
from web3.providers.base import JSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from tests.support.rpc_client import RpcClient


class ClientProvider(JSONBaseProvider):
    """Sends requests by a client; its errors are those of the client."""

    def __init__(self, client: RpcClient) -> None:
        super().__init__()
        self._client = client

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Return the whole response."""
        response: RPCResponse = self._client.post(
            msgspec.json.decode(self.encode_rpc_request(method, params))
        )
        return response


def web3_of(client: RpcClient) -> Web3:
    """Return web3.py over a client."""
    return Web3(ClientProvider(client))
