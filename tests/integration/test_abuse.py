"""A whole node among clients that mean no good: it answers the others all the while."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from websockets.frames import Opcode

from entresol.rpc.server import allow_open_files
from tests.integration.nodes import RunningNode, running_node
from tests.serving import Client, post

CONNECTION_LIMIT = 100
IMPATIENT = [
    *("--header-seconds", "1"),
    *("--body-seconds", "1"),
    *("--connection-limit", str(CONNECTION_LIMIT)),
]
CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": "0x10e"}
IDLE_CONNECTIONS = 5_000


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node(*IMPATIENT) as running:
        yield running


@pytest.fixture
def port(node: RunningNode) -> int:
    return port_of(node)


def port_of(node: RunningNode) -> int:
    number = urlsplit(node.url).port
    assert number is not None
    return number


def assert_serving(port: int) -> None:
    with Client(port) as client:
        assert json.loads(client.ask(CHAIN_ID).body) == ANSWER


def test_slow_headers_hold_nobody_up(port: int) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(Client(port)) for _ in range(50)]
        for client in slow:
            client.send(b"POST / HTTP/1.1\r\nHost: localh")
        assert_serving(port)
        assert all(client.rest().startswith(b"HTTP/1.1 408") for client in slow)
    assert_serving(port)


def test_half_bodies_hold_nobody_up(port: int) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(Client(port)) for _ in range(50)]
        for client in slow:
            client.send(post(CHAIN_ID)[:-20])
        assert_serving(port)
        assert all(client.rest().startswith(b"HTTP/1.1 408") for client in slow)
    assert_serving(port)


@pytest.mark.parametrize("seed", range(20))
def test_garbage_is_answered_or_cut_off(port: int, seed: int) -> None:
    garbage = random.Random(seed)
    with Client(port) as client:
        client.send(garbage.randbytes(garbage.randrange(1, 5_000)) + b"\r\n\r\n")
        assert client.rest().startswith(b"HTTP/1.1 4")
    assert_serving(port)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_request_is_answered_or_cut_off(port: int, seed: int) -> None:
    damage = random.Random(seed)
    request = bytearray(post(CHAIN_ID))
    for _ in range(5):
        request[damage.randrange(len(request))] = damage.randrange(256)
    with Client(port) as client:
        client.send(bytes(request))
        assert client.read(9) == b"HTTP/1.1 "
    assert_serving(port)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_frames_end_a_websocket_and_no_other(port: int, seed: int) -> None:
    damage = random.Random(seed)
    with Client(port) as client, Client(port) as other:
        assert client.open_websocket().status == other.open_websocket().status == 101
        client.send(damage.randbytes(500))
        client.rest()
        other.send_frame(Opcode.TEXT, CHAIN_ID)
        assert json.loads(other.frame()[1]) == ANSWER


def test_a_long_pipeline_is_answered_in_order(port: int) -> None:
    bodies = [CHAIN_ID.replace(b'"id":1', b'"id":%d' % n) for n in range(1_000)]
    with Client(port) as client:
        client.send(b"".join(post(body) for body in bodies))
        answers = [json.loads(client.response().body)["id"] for _ in bodies]
    assert answers == list(range(1_000))


def test_a_reader_that_never_reads_stops_only_itself(port: int) -> None:
    ask = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
    with Client(port, receive_buffer=4_096) as client:
        client.send(post(ask) * 200)
        assert_serving(port)


def test_websockets_that_open_and_leave_leave_nothing_behind(port: int) -> None:
    for _ in range(2 * CONNECTION_LIMIT):
        with Client(port) as client:
            assert client.open_websocket().status == 101
    assert_serving(port)


@pytest.mark.slow
def test_five_thousand_idle_connections_are_held() -> None:
    needed = IDLE_CONNECTIONS + 200
    if allow_open_files(needed) < needed:
        pytest.skip(f"the machine allows no {needed} open files")
    with running_node() as node, ExitStack() as stack:
        port = port_of(node)
        clients = [stack.enter_context(Client(port)) for _ in range(IDLE_CONNECTIONS)]
        for client in clients[::500]:
            assert json.loads(client.ask(CHAIN_ID).body) == ANSWER
        started = time.monotonic()
        for _ in range(100):
            assert_serving(port)
        assert time.monotonic() - started < 10
