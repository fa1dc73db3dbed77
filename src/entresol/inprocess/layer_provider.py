"""A web3.py provider for a layer in this process, without a socket."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from web3._utils.caching.caching_utils import handle_request_caching
from web3.providers.base import JSONBaseProvider

if TYPE_CHECKING:
    from web3.types import RPCEndpoint, RPCResponse

    from entresol.inprocess.channel import LayerChannel
    from entresol.inprocess.failures import LayerRecords


class LayerProvider(JSONBaseProvider):
    """Sends requests and batches straight to the dispatcher of a layer; any thread may use it.

    Responses are those of HTTP, errors too; after the devnet has stopped, `DevnetStopped` is a `ConnectionError`.
    """

    logger = logging.getLogger("entresol.provider")

    def __init__(self, channel: LayerChannel, records: LayerRecords) -> None:
        super().__init__()
        self._channel = channel
        self.records = records

    @handle_request_caching
    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Return the response to a call."""
        position = self.records.console.total
        body = self._channel.respond(self.encode_rpc_request(method, params))
        response = self.decode_rpc_response(body)
        if "error" in response:
            self.records.fail(method, params, response["error"], position)
        return response

    def make_batch_request(
        self, requests: list[tuple[RPCEndpoint, Any]]
    ) -> list[RPCResponse] | RPCResponse:
        """Return the responses to a batch, in its order; one error if it was rejected as a whole."""
        response: Any = self.decode_rpc_response(
            self._channel.respond(self.encode_batch_rpc_request(requests))
        )
        return response  # type: ignore[no-any-return]
