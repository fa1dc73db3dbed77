"""JSON-RPC errors for requests that the server rejects before dispatch."""

from __future__ import annotations

from typing import Final

from entresol.server.documents import DocumentFormat

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
