"""Hostile clients of a real node: each is rejected in its own way, and other clients are served."""

from __future__ import annotations

import gzip
import json
import random
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from websockets.frames import Opcode

from entresol.server.request_rate import allow_open_files
from tests.support.http_server import RawConnection, post_request, raw_response, upgrade_request
from tests.support.node_process import RunningNode, running_node
from tests.support.polling import PATIENCE_SECONDS

CHAIN_ID = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":"0x10e"}'
BLOCK = b'{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x0",true]}'
DESCRIPTION = b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'
CONNECTION_LIMIT = 100
IDLE_CONNECTIONS = 5_000
CHUNKED = post_request(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with unimpressed_node() as running:
        yield running


@pytest.fixture(scope="module")
def hurried() -> Iterator[RunningNode]:
    """Return a node with short timeouts; clients that must not time out use another one."""
    with unimpressed_node("--header-seconds", "0.5", "--body-seconds", "0.5") as running:
        yield running


@contextmanager
def unimpressed_node(*flags: str) -> Iterator[RunningNode]:
    """Run a node that rejects misbehaving clients, and logs no warning about it."""
    limit = ("--connection-limit", str(CONNECTION_LIMIT))
    with running_node("--log-level", "warning", *limit, *flags) as running:
        before = running.printed()
        yield running
        assert running.printed() == before
        assert running.stop() == 0


@pytest.fixture
def client(node: RunningNode) -> Iterator[RawConnection]:
    """Return a client; whatever it does, another one is served afterwards."""
    with RawConnection(node.port) as client:
        yield client
    with RawConnection(node.port) as another:
        assert another.post(CHAIN_ID).body == ANSWER


# Framing


def test_pipelined_calls_have_responses_in_order_whether_quick_or_slow(
    client: RawConnection,
) -> None:
    methods = ["eth_chainId", "rpc.discover", "eth_feeHistory", "evm_mine", "eth_estimateGas"] * 20
    bodies = [json.dumps({"jsonrpc": "2.0", "id": n, "method": it}) for n, it in enumerate(methods)]
    client.send(b"".join(post_request(body.encode()) for body in bodies))
    assert [json.loads(client.response().body)["id"] for _ in bodies] == list(range(100))


def test_a_chunked_body_of_single_bytes_is_a_body(client: RawConnection) -> None:
    client.send(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in CHAIN_ID) + b"0\r\n\r\n")
    assert client.response().body == ANSWER


def test_a_client_that_expects_100_continue_gets_it(client: RawConnection) -> None:
    whole = post_request(CHAIN_ID, "Expect: 100-continue")
    client.send(whole[: -len(CHAIN_ID)])
    assert client.response().status == 100
    client.send(CHAIN_ID)
    assert client.response().body == ANSWER


def test_a_block_is_compressed_for_clients_that_accept_gzip(client: RawConnection) -> None:
    plain = client.post(BLOCK)
    packed = client.post(BLOCK, "Accept-Encoding: gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2


def test_a_web_page_sends_a_preflight_request(client: RawConnection) -> None:
    client.send(
        b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://app.example\r\n"
        b"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n"
    )
    status, headers, _ = client.response()
    assert (status, headers["access-control-allow-origin"]) == (204, "*")
    assert (
        client.post(CHAIN_ID, "Origin: http://app.example").headers["access-control-allow-origin"]
        == "*"
    )


# Rejections


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (post_request(CHAIN_ID, "Content-Type: text/plain"), 415),
        (post_request(CHAIN_ID, "Host: evil.example"), 403),
        (post_request(b"")[:-4].replace(b"Content-Length: 0", b"Content-Length: 99999999") + b"\r\n\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400),
        (post_request(CHAIN_ID, "Content-Length: 1"), 400),
        (post_request(CHAIN_ID, "Content-Length: -1"), 400),
        (post_request(CHAIN_ID, "Content-Length: 99999999999999999999999"), 400),
        (post_request(CHAIN_ID, "Transfer-Encoding: chunked"), 400),
        (CHUNKED + b"zz\r\n", 400),
        (CHUNKED + b"ffffffffffffffffff\r\n", 400),
        (b"POST / HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nX\x00: y\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x00" * 1_000, 400),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 400_000, 431),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_rejected_by_its_status(
    client: RawConnection, request_: bytes, status: int
) -> None:
    client.send(request_)
    assert client.response().status == status


@pytest.mark.usefixtures("client")
def test_garbage_is_rejected_or_incomplete(node: RunningNode) -> None:
    randomness = random.Random(7)
    for _ in range(300):
        with RawConnection(node.port) as garbler:
            start = randomness.choice(
                (b"", b"POST / HTTP/1.1\r\n", CHUNKED, upgrade_request(), post_request(CHAIN_ID))
            )
            garbler.send(start + randomness.randbytes(randomness.randrange(1, 200)))
            garbler.socket.shutdown(socket.SHUT_WR)
            response = _rest(garbler)
            assert response == b"" or response.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_request_has_a_response(client: RawConnection, seed: int) -> None:
    damage = random.Random(seed)
    request = bytearray(post_request(CHAIN_ID))
    for _ in range(5):
        request[damage.randrange(len(request))] = damage.randrange(256)
    client.send(bytes(request))
    assert client.read(9) == b"HTTP/1.1 "


def _rest(client: RawConnection) -> bytes:
    """Return what comes until the end, which may be an abrupt one."""
    try:
        return client.rest()
    except ConnectionResetError:
        return b""


# Time


@pytest.mark.parametrize(
    "half",
    [
        b"POST / HT",
        b"POST / HTTP/1.1\r\nHost: localhost\r\n",
        post_request(CHAIN_ID)[:-5],
        CHUNKED + b"5\r\n{",
    ],
)
def test_an_incomplete_request_times_out(hurried: RunningNode, half: bytes) -> None:
    assert raw_response(hurried.port, half).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("half", [b"POST / HTTP/1.1\r\nHost: localh", post_request(CHAIN_ID)[:-20]])
def test_many_incomplete_requests_delay_no_other_client(hurried: RunningNode, half: bytes) -> None:
    with ExitStack() as stack:
        slow = [
            stack.enter_context(RawConnection(hurried.port)) for _ in range(CONNECTION_LIMIT // 2)
        ]
        for waiting in slow:
            waiting.send(half)
        assert raw_response(hurried.port, post_request(CHAIN_ID, "Connection: close")).endswith(
            ANSWER
        )
        # Whose first byte came too late was closed without a word.
        ends = {_rest(waiting)[:12] for waiting in slow}
        assert b"HTTP/1.1 408" in ends <= {b"HTTP/1.1 408", b""}


@pytest.mark.usefixtures("client")
def test_a_connection_closed_half_way_is_dropped(node: RunningNode) -> None:
    for cut in (1, 20, 100, len(post_request(DESCRIPTION))):
        for reset in (False, True):
            with RawConnection(node.port) as leaving:
                leaving.send(post_request(DESCRIPTION)[:cut])
                if reset:
                    leaving.socket.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )


def test_a_client_that_reads_no_responses_delays_no_other(
    client: RawConnection, node: RunningNode
) -> None:
    with RawConnection(node.port, receive_buffer=4_096) as greedy:
        greedy.send(post_request(DESCRIPTION) * 100)
        assert client.post(CHAIN_ID).body == ANSWER


# WebSocket


@pytest.fixture
def websocket(client: RawConnection) -> RawConnection:
    assert client.open_websocket().status == 101
    return client


def test_a_call_in_fragments_is_a_call(websocket: RawConnection) -> None:
    websocket.send_frame(Opcode.TEXT, CHAIN_ID[:10], fin=False)
    websocket.send_frame(Opcode.PING, b"are you there")
    for byte in CHAIN_ID[10:-1]:
        websocket.send_frame(Opcode.CONT, bytes([byte]), fin=False)
    websocket.send_frame(Opcode.CONT, CHAIN_ID[-1:])
    assert websocket.frame() == (Opcode.PONG, b"are you there")
    assert websocket.frame() == (Opcode.TEXT, ANSWER)


@pytest.mark.parametrize(
    ("opcode", "data", "code"),
    [
        (Opcode.TEXT, b"\xff\xfe", 1007),
        (Opcode.CONT, b"of nothing", 1002),
        (Opcode.CLOSE, b"\x03\xe8bye", 1000),
        (Opcode.CLOSE, b"\x00\x01", 1002),
        (Opcode.CLOSE, b"\x03", 1002),
        (Opcode.PING, b"x" * 126, 1002),
        (Opcode.BINARY, b" " * (15 * 2**20 + 1), 1009),
    ],
)
def test_a_websocket_closes_with_the_code_of_the_reason(
    websocket: RawConnection, opcode: Opcode, data: bytes, code: int
) -> None:
    mask = b"\x00" * 4
    size = len(data)
    length = (
        bytes([0x80 | size])
        if size < 126
        else b"\xfe" + size.to_bytes(2)
        if size < 2**16
        else b"\xff" + size.to_bytes(8)
    )
    websocket.send(bytes([0x80 | opcode]) + length + mask + data)
    assert websocket.close_code() == code


@pytest.mark.parametrize("message", [b"", b"nonsense", b"[]", b"1", b"null", b"{}", b'"' * 1_000])
def test_what_is_no_call_has_a_response_and_the_websocket_stays(
    websocket: RawConnection, message: bytes
) -> None:
    websocket.send_frame(Opcode.TEXT, message)
    assert json.loads(websocket.frame()[1])["error"]["code"] in {-32700, -32600}
    websocket.send_frame(Opcode.TEXT, CHAIN_ID)
    assert websocket.frame()[1] == ANSWER


@pytest.mark.parametrize("seed", range(20))
def test_damaged_frames_end_a_websocket_and_no_other(
    websocket: RawConnection, node: RunningNode, seed: int
) -> None:
    with RawConnection(node.port) as damaged:
        assert damaged.open_websocket().status == 101
        damaged.send(random.Random(seed).randbytes(500))
        damaged.rest()
    websocket.send_frame(Opcode.TEXT, CHAIN_ID)
    assert websocket.frame()[1] == ANSWER


@pytest.mark.usefixtures("client")
def test_websockets_that_open_and_leave_leave_nothing_behind(node: RunningNode) -> None:
    for _ in range(2 * CONNECTION_LIMIT):
        with RawConnection(node.port) as leaving:
            assert leaving.open_websocket().status == 101


def test_a_flood_of_pings_without_reading_pongs_delays_no_other_client(
    node: RunningNode,
) -> None:
    with RawConnection(node.port, receive_buffer=4_096) as flooding:
        flooding.open_websocket()
        ping = b"\x89\xfd" + bytes(4) + b"x" * 125
        # The node closes the connection, and may do so while this is sent.
        with suppress(ConnectionError):
            flooding.send(ping * 100_000)
        with RawConnection(node.port) as another:
            assert another.post(CHAIN_ID).body == ANSWER


def test_a_subscription_over_http_is_rejected_and_no_other_subscriber_misses_anything(
    client: RawConnection, node: RunningNode
) -> None:
    subscribe = b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
    error = json.loads(client.post(subscribe).body)["error"]
    assert error["code"] == -32601
    assert error["message"].startswith("notifications not supported")
    with RawConnection(node.port) as listening:
        listening.open_websocket()
        listening.send_frame(Opcode.TEXT, subscribe)
        listening.frame()
        client.post(b'{"jsonrpc":"2.0","id":1,"method":"evm_mine"}')
        assert json.loads(listening.frame()[1])["method"] == "eth_subscription"


# Crowds


@pytest.mark.slow
def test_five_thousand_idle_connections_are_held_and_others_served() -> None:
    needed = IDLE_CONNECTIONS + 1_000
    if allow_open_files(needed) < needed:
        pytest.skip(f"the machine allows no {needed} open files")
    patience = ("--header-seconds", str(PATIENCE_SECONDS))
    with running_node("--log-level", "warning", *patience) as node, ExitStack() as crowd:
        clients = [crowd.enter_context(RawConnection(node.port)) for _ in range(IDLE_CONNECTIONS)]
        for client in clients[::100]:
            assert client.post(CHAIN_ID).body == ANSWER
        with RawConnection(node.port) as late:
            assert late.post(CHAIN_ID).body == ANSWER
        assert all(client.post(CHAIN_ID).body == ANSWER for client in clients)
        assert node.stop() == 0
