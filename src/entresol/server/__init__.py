"""HTTP/1.1 and WebSocket on one port, for documents whose meaning is somebody else's."""

from entresol.server.config import ServerConfig
from entresol.server.connection import Connection, Counters, Handler, OnRejection, Page
from entresol.server.limits import allow_open_files
from entresol.server.responses import HttpResponse
from entresol.server.server import Server

__all__ = [
    "Connection",
    "Counters",
    "Handler",
    "HttpResponse",
    "OnRejection",
    "Page",
    "Server",
    "ServerConfig",
    "allow_open_files",
]
