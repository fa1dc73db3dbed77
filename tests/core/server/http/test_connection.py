"""A connection that receives a long body takes turns with others."""

from __future__ import annotations

import asyncio

from entresol.rpc.jsonrpc.errors import JSON_RPC
from entresol.server.config import ServerConfig
from entresol.server.http.connection import HttpConnection
from entresol.server.limits import READ_SECONDS, TURN_SECONDS
from entresol.server.server import Server

SIZE = 2 << 20
HEAD = (
    b"POST / HTTP/1.1\r\nhost: localhost\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % SIZE
)
RECEIVED = b'"' + b"a" * (256 << 10)
CONNECTIONS = 20


class Wire(asyncio.Transport):
    """A transport whose client always has more to send."""

    reading = True

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the limits."""

    def is_closing(self) -> bool:
        """Stay open."""
        return False

    def pause_reading(self) -> None:
        """Read no more."""
        self.reading = False

    def resume_reading(self) -> None:
        """Read again."""
        self.reading = True


async def resumed_in_a_turn(count: int) -> list[int]:
    """Return how many of so many connections within a body are read again after each turn of the event loop."""
    server = Server(lambda _body, _connection: b"", JSON_RPC, ServerConfig(port=0), {})
    server.state.loop = asyncio.get_running_loop()
    wires = [Wire() for _ in range(count)]
    for wire in wires:
        connection = HttpConnection(server.state)
        connection.connection_made(wire)
        connection.data_received(HEAD)
        connection.data_received(RECEIVED)
    read = [sum(it.reading for it in wires)]
    while read[-1] < count:
        await asyncio.sleep(0)
        read.append(sum(it.reading for it in wires))
    return read


def test_long_bodies_are_read_in_turns_of_limited_time() -> None:
    first, *rest = asyncio.run(resumed_in_a_turn(CONNECTIONS))
    assert first == 0
    resumed = [after - before for before, after in zip([first, *rest], rest, strict=False)]
    assert max(resumed) <= TURN_SECONDS / READ_SECONDS + 1
