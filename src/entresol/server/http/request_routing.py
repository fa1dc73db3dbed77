"""Route a request by its head: to the handler, to a page or a file, to a WebSocket, or to a rejection."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from entresol.server.handler import Page
from entresol.server.http.request import RequestRejectedError, WebSocketUpgrade, path_of
from entresol.server.responses import NO_HOST, WRONG_TYPE, HttpResponse, preflight, wrong_host

if TYPE_CHECKING:
    import httptools

    from entresol.server.state import ServerState

Route: TypeAlias = HttpResponse | WebSocketUpgrade | Page | None
"""What responds to a request: a response that is known already, a WebSocket, a page; None is the handler."""


def route_request(
    state: ServerState,
    parser: httptools.HttpRequestParser,
    target: bytes,
    headers: dict[bytes, bytes],
) -> Route:
    """Return the route of a request whose headers are complete; raise if the connection cannot continue."""
    host = headers.get(b"host")
    if host is None and parser.get_http_version() == "1.1":
        raise RequestRejectedError(NO_HOST)
    if host is not None and not state.hosts.allows(host):
        return wrong_host(host)
    method = parser.get_method()
    if method == b"GET":
        if headers.get(b"upgrade", b"").lower() == b"websocket" and parser.should_upgrade():
            return WebSocketUpgrade(target, headers)
        return _route_get(state, target, headers)
    if method == b"OPTIONS" and b"access-control-request-method" in headers:
        # The headers that allow the origin are part of every response.
        return preflight(headers.get(b"access-control-request-headers", b""))
    if method != b"POST":
        return state.rejections.wrong_method
    if headers.get(b"content-type", b"").lower() not in state.content_types:
        return WRONG_TYPE
    return None


def _route_get(state: ServerState, target: bytes, headers: dict[bytes, bytes]) -> Route:
    path = path_of(target)
    page = state.page(path, target)
    if page is not None:
        return page
    file = state.files().get(path)
    response = None if file is None else file.response(headers)
    return response or state.rejections.wrong_method
