"""How long after the producer a replica shows a block, while transactions arrive at a steady rate."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.polling import eventually


class Heads:
    """When a node announced each block, by a clock that all nodes share."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.seen: dict[str, float] = {}
        subscribe = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
        socket.send(json.dumps(subscribe))
        socket.recv()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for message in self._socket:
                now = time.perf_counter()
                self.seen[json.loads(message)["params"]["result"]["hash"]] = now
        except ConnectionClosed:
            return


@contextmanager
def heads_of(url: str) -> Iterator[Heads]:
    """Follow the heads of a node."""
    with connect(url.replace("http:", "ws:")) as socket:
        yield Heads(socket)


def lags_under(
    producer: str, replica: str, bodies: Sequence[bytes], pause: float
) -> tuple[list[float], float]:
    """Send a body to the producer every `pause` seconds; return the lag of each block, and bodies a second."""
    with heads_of(producer) as ours, heads_of(replica) as theirs:
        seconds = _send_steadily(producer, bodies, pause)
        eventually(lambda: theirs.seen.keys() >= ours.seen.keys())
        lags = [theirs.seen[block] - at for block, at in ours.seen.items()]
    return lags, len(bodies) / seconds


def _send_steadily(url: str, bodies: Sequence[bytes], pause: float) -> float:
    address = urlsplit(url)
    began = time.perf_counter()
    with closing(http.client.HTTPConnection(str(address.hostname), address.port)) as connection:
        for index, body in enumerate(bodies):
            time.sleep(max(0.0, began + index * pause - time.perf_counter()))
            connection.request("POST", "/", body, {"content-type": "application/json"})
            response = connection.getresponse().read()
            assert b'"error"' not in response, response
    return time.perf_counter() - began
