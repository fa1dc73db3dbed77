"""The handshake that turns an HTTP request into a WebSocket."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from msgspec import Struct
from websockets.datastructures import Headers
from websockets.extensions.base import Extension
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Origin

from entresol.server.access_control import OriginCheck
from entresol.server.config import ServerConfig
from entresol.server.http.request import WebSocketUpgrade
from entresol.server.responses import TEXT, HttpResponse


class Handshake(Struct, frozen=True):
    """The result of a handshake: the response, and the extensions that both sides use."""

    response: bytes
    rejection: HttpResponse | None
    """The response as a rejection, unless the upgrade is accepted."""
    extensions: Sequence[Extension]


def handshake(upgrade: WebSocketUpgrade, config: ServerConfig, origins: OriginCheck) -> Handshake:
    """Accept or reject `upgrade`."""
    allowed = None
    if not origins.any:
        allowed = [None, *(Origin(origin.decode()) for origin in origins.origins)]
    extensions = [ServerPerMessageDeflateFactory()] if config.websocket_deflate else None
    negotiation = ServerProtocol(origins=allowed, extensions=extensions)
    headers = Headers()
    for name, value in upgrade.headers.items():
        headers[name.decode("latin-1")] = value.decode("latin-1")
    response = negotiation.accept(Request(upgrade.target.decode("latin-1"), headers))
    rejection = None
    if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
        body = bytes(response.body or b"")
        reason = body.decode(errors="replace").strip()
        rejection = HttpResponse(response.status_code, TEXT, body, reason=reason)
    return Handshake(response.serialize(), rejection, negotiation.extensions)
