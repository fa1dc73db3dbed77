"""Long requests are read off the event loop, and have the responses that short ones would have."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from entresol.primitives.values import Data
from entresol.rpc.jsonrpc import dispatch as module
from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from entresol.rpc.jsonrpc.method import Order, method
from entresol.server.handler import LocalConnection
from tests.support.example_namespace import Toy, dispatch
from tests.support.loop_time import measured_callbacks

BODIES = (
    b'{"jsonrpc":"2.0","id":1,"method":"toy_anything","params":["x"]}',
    b' {"id":"a","params":[{"a":[1,2]}],"other":1,"method":"toy_anything","jsonrpc":"2.0"} ',
    rb'{"jsonrpc":"2.0","id":1,"method":"toy_anything","params":["\u00e9\n"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_anything","params":{"value":7}}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_anything"}',
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"toy_anything","params":[1],"params":null}',
    b'{"jsonrpc":"2.0","method":"toy_anything","params":["x"]}',
    b'{"jsonrpc":"2.0","id":{},"method":"toy_anything"}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x0102"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x0102",7]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":[ "0xaB" ]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x1"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0xzz"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_none","params":["0x11"]}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_anything","params":["0x11"]}',
    b'{"jsonrpc":"1.0","id":1,"method":"toy_anything"}',
    b'{"jsonrpc":"2.0","id":1}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_anything","params":[}',
    b'{"jsonrpc":"2.0","id":1,"method":"toy_anything","params":["\xff"]}',
    b"[]",
    b"[1,2]",
    b' [{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x01"]},{"jsonrpc":"2.0","method":"toy_size"}]',
    b'[{"jsonrpc":"2.0","id":1,"method":"toy_chainId"},7]',
    b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"toy_chainId"}'] * 4) + b"]",
)


DIGITS = b"f8" * (7 << 20)


def decode_seconds(body: bytes) -> float:
    """Return how much CPU time decoding a request and its data takes."""
    started = time.thread_time()
    Data.parse(msgspec.json.decode(body)["params"][0])
    return time.thread_time() - started


async def respond(body: bytes) -> bytes | None:
    """Return the response of a new dispatcher."""
    response = Dispatcher([Sizes()]).handle(body, LocalConnection())
    return response if isinstance(response, bytes | None) else await response


class Sizes(Toy):
    """A namespace with a method of data."""

    @method(order=Order.IN_TURN)
    def size(self, data: Data, more: int = 5) -> int:
        """Return how long some data is."""
        return len(data) + more


@pytest.mark.parametrize("body", BODIES)
def test_a_long_request_has_the_response_of_a_short_one(
    monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    dispatcher = Dispatcher([Sizes()], limits=RequestLimits(batch=3))
    short = dispatch(dispatcher, body)
    monkeypatch.setattr(module, "MAX_NATIVE_BODY_BYTES", 0)
    assert dispatch(dispatcher, body) == short


def test_half_of_a_surrogate_pair_in_a_long_request_is_rejected_under_its_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_NATIVE_BODY_BYTES", 0)
    body = rb'{"jsonrpc":"2.0","id":7,"method":"toy_anything","params":["\ud800"]}'
    response = dispatch(Dispatcher([Sizes()]), body)
    assert response is not None
    assert response.startswith(b'{"jsonrpc":"2.0","id":7,"error":{"code":-32602,')


def held_seconds(body: bytes, result: int) -> float:
    """Return for how long a request holds the loop: the least of some tries, as others may have the processor."""
    longest = []
    for _ in range(5):
        with measured_callbacks() as measured:
            response = asyncio.run(respond(body))
        assert response is not None
        assert b'"result":%d}' % result in response
        longest.append(measured.longest)
    return min(longest)


def test_long_data_does_not_keep_the_event_loop() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x%b"]}' % DIGITS
    assert held_seconds(body, (7 << 20) + 5) < decode_seconds(body) / 2


@pytest.mark.parametrize("opening", [b"", b"["])
def test_long_parameters_of_calls_in_order_do_not_keep_the_event_loop(opening: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x%b",7]}' % DIGITS
    whole = opening + body + (b"]" if opening else b"")
    assert held_seconds(whole, (7 << 20) + 7) < decode_seconds(body) / 2


def test_wrong_long_parameters_of_calls_in_order_are_rejected_in_their_place() -> None:
    wrong = b'{"jsonrpc":"2.0","id":1,"method":"toy_size","params":["0x%bz",7]}' % DIGITS
    right = b'{"jsonrpc":"2.0","id":2,"method":"toy_size","params":["0x01"]}'
    response = asyncio.run(respond(b"[%b,%b]" % (wrong, right)))
    assert response is not None
    first, second = msgspec.json.decode(response)
    assert (first["id"], first["error"]["code"]) == (1, -32602)
    assert first["error"]["message"].startswith("params[0]: data is written in hex digits, got")
    assert second == {"jsonrpc": "2.0", "id": 2, "result": 6}
