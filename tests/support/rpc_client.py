"""JSON-RPC clients: of a dispatcher in this process, of some namespaces, and of a server over HTTP."""

from __future__ import annotations

import asyncio
import http.client
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import msgspec

from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.jsonrpc.method import Namespace
from entresol.rpc.jsonrpc.served_method import Method
from entresol.rpc.threads.client_threads import ClientThreads, current_client
from entresol.server.handler import LocalConnection, completed
from tests.support.declared_results import check_response, declared_methods
from tests.support.polling import PATIENCE_SECONDS, eventually


class RpcError(Exception):
    """The response has an error instead of a result."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class RpcClient(ABC):
    """Calls methods by name: `client("eth_getBalance", address, "latest")`."""

    url: str = ""

    def __call__(self, method: str, *params: object) -> Any:
        outcome = _outcome(self.post(_request(1, method, params)))
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    def error(self, method: str, *params: object) -> RpcError:
        outcome = _outcome(self.post(_request(1, method, params)))
        assert isinstance(outcome, RpcError), outcome
        return outcome

    def batch(self, calls: Iterable[tuple[str, Sequence[object]]]) -> list[Any]:
        """Return the results of many calls in one request, with the `RpcError` of each that failed."""
        requests = [_request(n, method, params) for n, (method, params) in enumerate(calls)]
        if not requests:
            return []
        responses = {response["id"]: response for response in self.post(requests)}
        return [_outcome(responses[n]) for n in range(len(requests))]

    def receipt(self, transaction_hash: str) -> dict[str, Any]:
        """Wait for the receipt of a transaction; anvil mines a moment after it responds."""
        receipt: dict[str, Any] = eventually(
            lambda: self("eth_getTransactionReceipt", transaction_hash)
        )
        return receipt

    @abstractmethod
    def post(self, document: object) -> Any:
        """Return the whole response to any JSON document."""

    def close(self) -> None:  # noqa: B027  # not every client holds something
        """Release what the client holds."""


class DispatcherClient(RpcClient):
    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    @property
    def methods(self) -> Mapping[str, Method]:
        return self._dispatcher.methods

    def post(self, document: object) -> Any:
        """Return the whole response to any JSON document, which must be as its method declares it."""
        body = msgspec.json.encode(document)
        response = msgspec.json.decode(asyncio.run(self.handle(body)))
        check_response(self._dispatcher.methods, msgspec.json.decode(body), response)
        return response

    async def handle(self, body: bytes) -> bytes:
        response = self._dispatcher.handle(body, LocalConnection())
        handled = response if isinstance(response, bytes) or response is None else await response
        assert handled is not None
        return handled


def native_response(dispatcher: Dispatcher, body: bytes) -> bytes | None:
    """Return the response to a request if the crate has made it, without Python; else None."""

    async def handled() -> bytes | None:
        connection = LocalConnection()
        response = await completed(dispatcher.handle(body, connection))
        # Who the client is matters only to what runs in Python.
        return None if current_client() is connection else response

    return asyncio.run(handled())


class LeavingClient(LocalConnection):
    def __init__(self) -> None:
        super().__init__()
        self._callbacks: list[Callable[[], object]] = []

    def on_close(self, callback: Callable[[], object]) -> None:
        self._callbacks.append(callback)

    def disconnect_now(self) -> None:
        for callback in self._callbacks:
            callback()


class NamespaceClient(DispatcherClient):
    def __init__(self, *namespaces: Namespace) -> None:
        self._threads = ClientThreads(1)
        super().__init__(Dispatcher(list(namespaces), threads=self._threads))

    def close(self) -> None:
        self._threads.close(wait=True)


class HttpRpcClient(RpcClient):
    """A connection to a server; for one thread at a time."""

    def __init__(self, url: str, patience: float = PATIENCE_SECONDS) -> None:
        self.url = url
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=patience)

    def post(self, document: object) -> Any:
        return msgspec.json.decode(self.post_bytes(msgspec.json.encode(document)))

    def post_bytes(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        try:
            self._connection.request("POST", "/", body, headers)
            return self._connection.getresponse().read()
        except Exception:
            # A half-read response must not be taken for that of the next call.
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._connection.close()


class CheckedRpcClient(HttpRpcClient):
    """A connection to a node of the same sources: every response must be as its method declares it."""

    def post(self, document: object) -> Any:
        body = msgspec.json.encode(document)
        response = msgspec.json.decode(self.post_bytes(body))
        check_response(declared_methods(), msgspec.json.decode(body), response)
        return response


def get(url: str) -> bytes:
    return _page(url)[1]


def health_of(url: str) -> tuple[int, dict[str, Any]]:
    status, body = _page(f"{url}/health", 5)
    return status, msgspec.json.decode(body)


def _page(url: str, patience: float = PATIENCE_SECONDS) -> tuple[int, bytes]:
    parts = urlsplit(url)
    with closing(http.client.HTTPConnection(parts.netloc, timeout=patience)) as connection:
        connection.request("GET", parts.path)
        response = connection.getresponse()
        return response.status, response.read()


def _request(number: int, method: str, params: Sequence[object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _outcome(response: dict[str, Any]) -> Any:
    error = response.get("error")
    return response["result"] if error is None else RpcError(error)
