"""HTTP/1.1 and WebSocket server on one port, for handlers of JSON documents."""

from entresol.server.config import ServerConfig
from entresol.server.documents import DocumentFormat
from entresol.server.handler import ClientConnection, Handler, OnRejection, Page
from entresol.server.limits import allow_open_files
from entresol.server.responses import HttpResponse
from entresol.server.server import Server
from entresol.server.state import Counters

__all__ = [
    "ClientConnection",
    "Counters",
    "DocumentFormat",
    "Handler",
    "HttpResponse",
    "OnRejection",
    "Page",
    "Server",
    "ServerConfig",
    "allow_open_files",
]
