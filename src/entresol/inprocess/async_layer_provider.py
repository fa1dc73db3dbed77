"""An asynchronous web3.py provider for a layer in this process, with subscriptions and without a socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, cast

from web3._utils.caching.caching_utils import async_handle_recv_caching, async_handle_send_caching
from web3.exceptions import PersistentConnectionClosedOK
from web3.providers.persistent import PersistentConnectionProvider

from entresol.inprocess.channel import InProcessConnection, LayerChannel

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from web3.types import RPCEndpoint, RPCRequest, RPCResponse

    from entresol.inprocess.failures import LayerRecords


class AsyncLayerProvider(PersistentConnectionProvider):
    """Sends requests and batches straight to the dispatcher of a layer.

    It needs no `connect`, except for subscriptions: `async with AsyncWeb3(provider) as w3`. One event loop at a time
    may use it.
    """

    logger = logging.getLogger("entresol.provider")

    def __init__(self, channel: LayerChannel, records: LayerRecords) -> None:
        super().__init__()
        self.endpoint_uri = "in-process"
        self._channel = channel
        self.records = records
        self._connection: InProcessConnection | None = None
        self._notifications: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._responses: dict[Any, asyncio.Task[bytes]] = {}
        self._printed: dict[Any, int] = {}
        """How much contracts had printed when a call began."""

    async def is_connected(self, show_traceback: bool = False) -> bool:  # noqa: FBT001, FBT002 - web3.py's
        """Return whether the devnet runs."""
        try:
            await self._channel.respond_async(
                self.encode_rpc_request(cast("Any", "net_version"), [])
            )
        except ConnectionError:
            if show_traceback:
                raise
            return False
        return True

    # Requests: web3.py sends and receives in two steps, and would poll for what is received.

    @async_handle_send_caching
    async def send_request(self, method: RPCEndpoint, params: Any) -> RPCRequest:
        """Start a call, and return what identifies it."""
        request = self.form_request(method, params)
        self._printed[request["id"]] = self.records.console.total
        self._start(request["id"], self.encode_rpc_dict(request))
        return request

    @async_handle_recv_caching  # type: ignore[arg-type]
    async def recv_for_request(self, rpc_request: RPCRequest) -> RPCResponse:
        """Return the response to a call."""
        position = self._printed.pop(rpc_request["id"])
        response = self.decode_rpc_response(await self._responses.pop(rpc_request["id"]))
        if "error" in response:
            method, params = rpc_request["method"], rpc_request["params"]
            self.records.fail(method, params, response["error"], position)
        return response

    async def send_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCRequest]:
        """Start a batch, and return its calls."""
        calls = [self.form_request(method, params) for method, params in requests]
        self._start(calls[0]["id"] if calls else None, self.encode_batch_request_dicts(calls))
        return calls

    async def recv_for_batch_request(self, _request_dicts: list[RPCRequest]) -> list[RPCResponse]:
        """Return the responses to a batch, in its order; one error if it was rejected as a whole."""
        key = _request_dicts[0]["id"] if _request_dicts else None
        response = self.decode_rpc_response(await self._responses.pop(key))
        return cast("list[RPCResponse]", response)

    async def socket_send(self, request_data: bytes) -> None:
        """Send a request whose response is received as notifications are."""
        response = await self._channel.respond_async(request_data, self._connection)
        self._notifications.put_nowait(response)

    async def socket_recv(self) -> RPCResponse:
        """Return the next notification."""
        data = await self._notifications.get()
        if data is None:
            raise PersistentConnectionClosedOK(user_message="The devnet has stopped.")
        if self._connection is not None:
            self._connection.mark_read(len(data))
        return self.decode_rpc_response(data)

    def _start(self, key: Any, body: bytes) -> None:
        work: Coroutine[Any, Any, bytes] = self._channel.respond_async(body, self._connection)
        self._responses[key] = asyncio.create_task(work)

    # The connection, for notifications.

    async def _provider_specific_connect(self) -> None:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[bytes | None]()
        self._notifications = queue

        def receive(data: bytes | None) -> None:
            # A loop that has ended needs no notifications.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(queue.put_nowait, data)

        self._connection = InProcessConnection(receive)

    async def _provider_specific_disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._channel.disconnect(connection)

    async def _provider_specific_socket_reader(self) -> RPCResponse:
        return await self.socket_recv()
