"""A WebSocket that sends requests in any frames: whole or in fragments, as text or binary, with pings in between."""

from __future__ import annotations

import random
import time

from websockets.frames import Frame, Opcode

from entresol.server.websocket import WebSocketConnection
from tests.support.http_server import RawConnection

MAX_FRAGMENTS = 6
MARKER = b'{"jsonrpc":"2.0","id":"the end","method":"web3_clientVersion","params":[]}'
MARKER_RESPONSE = b'{"jsonrpc":"2.0","id":"the end",'


class FuzzedWebSocket:
    """Sends one request at a time, and returns its response."""

    def __init__(self, port: int, randomness: random.Random) -> None:
        self._port = port
        self._random = randomness
        self._connection = self._open()

    def exchange(self, body: bytes, seconds: float, *, responds: bool) -> bytes:
        """Send `body` and return its response; empty if `responds` is False and there is none.

        Raises OSError or EOFError if the connection ends; the next request has a new one.
        """
        self._connection.socket.settimeout(seconds)
        try:
            self._connection.send(self._frames(body))
            if responds:
                return self._next_response()
            self._connection.send_frame(Opcode.TEXT, MARKER)
            response = self._next_response()
            return b"" if response.startswith(MARKER_RESPONSE) else response
        except (OSError, EOFError):
            self.close()
            self._connection = self._open()
            raise

    def close(self) -> None:
        """Hang up."""
        self._connection.socket.close()

    def _open(self) -> RawConnection:
        connection = RawConnection(self._port)
        assert connection.open_websocket().status == 101
        return connection

    def _frames(self, body: bytes) -> bytes:
        opcode = self._random.choice((Opcode.TEXT, Opcode.BINARY))
        if not _is_utf8(body):
            # A text that is not UTF-8 would end the connection, as it should.
            opcode = Opcode.BINARY
        count = self._random.choice((0, 0, 1, self._random.randrange(MAX_FRAGMENTS)))
        cuts = sorted(self._random.randint(0, len(body)) for _ in range(count))
        pieces = [
            body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)
        ]
        frames, small = b"", len(pieces)
        for number, piece in enumerate(pieces):
            fin = number == len(pieces) - 1
            frames += Frame(opcode, piece, fin=fin).serialize(mask=True)
            opcode = Opcode.CONT
            if self._random.random() < 0.2:
                control = self._random.choice((Opcode.PING, Opcode.PONG))
                frames += Frame(control, self._random.randbytes(5)).serialize(mask=True)
                small += 1
        # The rate of small frames is not what is tested: below it, nothing happens.
        time.sleep(small / WebSocketConnection.small_frames_per_second)
        return frames

    def _next_response(self) -> bytes:
        while True:
            opcode, data = self._connection.frame()
            if opcode is Opcode.CLOSE:
                raise ConnectionResetError(f"closed: {data!r}")
            is_message = opcode in {Opcode.TEXT, Opcode.BINARY}
            if is_message and b'"method":"eth_subscription"' not in data[:60]:
                return data


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
