"""HTTP/1.1 and WebSocket on one port, for documents whose meaning is somebody else's."""

from entresol.rpc.server.config import ServerConfig
from entresol.rpc.server.connection import Connection, Counters, Handler, OnRefusal, Page
from entresol.rpc.server.limits import allow_open_files
from entresol.rpc.server.listener import Server
from entresol.rpc.server.responses import Reply

__all__ = [
    "Connection",
    "Counters",
    "Handler",
    "OnRefusal",
    "Page",
    "Reply",
    "Server",
    "ServerConfig",
    "allow_open_files",
]
