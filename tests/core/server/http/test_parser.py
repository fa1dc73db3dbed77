"""The memory that the body of a request takes while it is received."""

from __future__ import annotations

import tracemalloc
from itertools import chain

from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.server.config import ServerConfig
from entresol.server.http.parser import HttpParser
from entresol.server.http.request import HttpRequest
from entresol.server.server import Server

BODY = b'{"text":"%b"}' % (b"a" * (4 << 20))
HEAD = (
    b"POST / HTTP/1.1\r\nhost: localhost\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY)
)
RECEIVED = 64 << 10


def test_a_long_body_is_not_copied_once_it_is_complete() -> None:
    """Copying it would hold the event loop for some 20 ms at the longest allowed."""
    server = Server(lambda _body, _connection: b"", JSON_RPC, ServerConfig(port=0), {})
    requests: list[HttpRequest] = []
    parser = HttpParser(server.state, requests.append, lambda _: None)
    pieces = (BODY[at : at + RECEIVED] for at in range(0, len(BODY), RECEIVED))
    tracemalloc.start()
    try:
        for piece in chain([HEAD], pieces):
            parser.receive(piece)
            while parser.unparsed:
                parser.parse_piece()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert requests[0].body == BODY
    assert peak < 1.5 * len(BODY)
