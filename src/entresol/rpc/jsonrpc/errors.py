"""Errors of requests that reach no method, and how an exception becomes the `error` member of a response."""

from __future__ import annotations

import logging
import secrets
from typing import Final

import msgspec

from entresol.errors import INTERNAL, EntresolError, SimulatedCallRejected
from entresol.server.responses import DocumentFormat

log = logging.getLogger(__name__)

JSON_RPC: Final = DocumentFormat(
    name="JSON-RPC request",
    media_types=(b"application/json", b"application/json-rpc"),
    malformed=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    rate_limited=b'{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"Too many requests"}}',
    too_large=(
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32007,"message":"Request is too big",'
        b'"data":"Exceeded max limit of %d"}}'
    ),
    overloaded=(
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"Too many long requests at a time",'
        b'"data":"try again later"}}'
    ),
    internal_error=b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}',
)
"""How the server responds to what it rejects before a request is decoded."""


class RequestError(EntresolError):
    """A request cannot be served; `detail` says more than the standard text."""

    rpc_code = -32600

    def __init__(self, message: str, detail: str | None = None) -> None:
        super().__init__(message)
        self.detail = detail

    @property
    def rpc_data(self) -> str | None:
        """The detail."""
        return self.detail


class ParseError(RequestError):
    """The body is not JSON."""

    rpc_code = -32700

    def __init__(self, detail: str) -> None:
        super().__init__("Parse error", detail)


class InvalidRequestError(RequestError):
    """The body is JSON, but no request."""

    def __init__(self, detail: str) -> None:
        super().__init__("Invalid request", detail)


class MethodNotFoundError(RequestError):
    """No method has this name."""

    rpc_code = -32601

    def __init__(self, name: str) -> None:
        # Clients match on this very text.
        super().__init__(f"the method {name[:70]} does not exist/is not available")


class InvalidParamsError(RequestError):
    """A parameter is not what the method takes; the text says which."""

    rpc_code = -32602

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class BatchSizeError(RequestError):
    """A batch has more calls than allowed."""

    rpc_code = -32010

    def __init__(self, limit: int) -> None:
        super().__init__("The batch request was too large", f"Exceeded max limit of {limit}")


class ResponseSizeError(RequestError):
    """A result is longer than allowed."""

    rpc_code = -32008

    def __init__(self, limit: int) -> None:
        super().__init__("Response is too big", f"Exceeded max limit of {limit}")


class BatchResponseSizeError(RequestError):
    """The results of a batch are longer than allowed together."""

    rpc_code = -32011

    def __init__(self, limit: int) -> None:
        super().__init__("The batch response was too large", f"Exceeded max limit of {limit}")


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `error` member of a response."""

    code: int
    message: str
    data: str | dict[str, str] | None = None


def error_object_of(error: Exception, method: str) -> ErrorObject:
    """Return the error object for an exception that a call of `method` raised.

    Any other exception than an `EntresolError` is internal: it is logged with its traceback under a request id, and the client gets
    the id and nothing else.
    """
    if not isinstance(error, EntresolError):
        return _internal(error, method)
    code = error.rpc_code
    if isinstance(error, SimulatedCallRejected):
        code = error.reason.simulation_code or code
    if code == INTERNAL and not error.is_explained:
        return _internal(error, method)
    return ErrorObject(code, error.rpc_text or _printable(str(error)), error.rpc_data)


def _internal(error: Exception, method: str) -> ErrorObject:
    request_id = secrets.token_hex(8)
    log.error("request %s: %s failed", request_id, method, exc_info=error)
    return ErrorObject(INTERNAL, "Internal error", request_id)


def _printable(text: str) -> str:
    """Make `text` encodable: the reason of a revert may not be valid Unicode."""
    return text.encode(errors="replace").decode()
