"""Web pages, and clients that name a URL: neither learns through the node what another host says."""

from __future__ import annotations

import asyncio
import json
import socketserver
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from websockets.asyncio.client import connect

from tests.support.inprocess_node import InprocessNode, inprocess_node

SECRET: Final = "s3cr3t-0f-4n-1ntr4n3t"  # noqa: S105  # a sample
EVIL: Final = "http://evil.example"
QUICK: Final = ("--no-l1", "--fork-retries", "0", "--fork-timeout", "2")


class Host(socketserver.ThreadingTCPServer):
    """A server that responds with the same bytes, whatever it is asked."""

    daemon_threads = True
    says = b""
    asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Host)
        if self.request.recv(65536):
            self.server.asked += 1
            self.request.sendall(self.server.says)


@contextmanager
def hosting() -> Iterator[Host]:
    with Host(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def http(status: str, body: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return (head + body).encode()


def naming(url: str) -> list[dict[str, Any]]:
    forking: list[tuple[str, object]] = [
        ("anvil_reset", {"forking": {"jsonRpcUrl": url}}),
        ("hardhat_reset", {"forking": {"jsonRpcUrl": url}}),
        ("anvil_setRpcUrl", url),
    ]
    return [
        {"jsonrpc": "2.0", "id": index, "method": method, "params": [param]}
        for index, (method, param) in enumerate(forking)
    ]


def post(node: InprocessNode, body: object, origin: str | None) -> Any:
    headers = {"Content-Type": "application/json"}
    if origin is not None:
        headers["Origin"] = origin
    request = urllib.request.Request(node.url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


async def over_websocket(node: InprocessNode, calls: list[dict[str, Any]]) -> list[Any]:
    async with connect(node.url.replace("http", "ws"), origin=EVIL) as socket:  # type: ignore[arg-type]
        found = []
        for call in calls:
            await socket.send(json.dumps(call))
            found.append(json.loads(await socket.recv()))
        return found


@pytest.mark.parametrize("flags", [(), ("--workers", "2")], ids=["alone", "workers"])
def test_a_foreign_page_does_not_make_the_node_ask_another_host(flags: tuple[str, ...]) -> None:
    with hosting() as host, inprocess_node(*QUICK, *flags) as node:
        calls = naming(host.url)
        responses = [post(node, call, EVIL) for call in (*calls, *calls)]
        responses += [post(node, call, "null") for call in calls]
        responses += asyncio.run(over_websocket(node, calls))
        chain_id = {"jsonrpc": "2.0", "id": 9, "method": "eth_chainId"}
        *batch, after = post(node, [*calls, chain_id], EVIL)
        assert after["result"] == hex(270)
        for response in (*responses, *batch):
            assert response["error"]["code"] == -32000
            assert "a web page of another origin" in response["error"]["message"]
        assert host.asked == 0


def test_the_page_of_the_node_itself_and_those_that_are_named_are_served() -> None:
    host: Host
    with hosting() as host, inprocess_node(*QUICK, "--cors-origins", f"*,{EVIL}") as node:
        host.says = http("500 Wrong", "")
        for asked, origin in enumerate((None, node.url.rstrip("/"), EVIL), start=1):
            assert "HTTP status 500" in post(node, naming(host.url)[0], origin)["error"]["message"]
            assert host.asked == asked


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        (http("403 Forbidden", SECRET), "code 403"),
        (http("200 OK", SECRET), "HTTP status 200"),
        (http("200 OK", json.dumps({"id": 1, "error": {"message": SECRET}})), "code 0"),
        (http("200 OK", json.dumps({"id": 1, "error": SECRET})), "code 0"),
        (http("200 OK", json.dumps({"id": 1, "result": f"0x{SECRET}"})), "as a node does"),
        (http("200 OK", json.dumps([{"id": n, "result": f"0x{SECRET}"} for n in (1, 2)])), ""),
        (b"220 " + SECRET.encode() + b"\r\n", "the connection failed (ClientResponseError)"),
        (b"HTTP/1.1 200 OK\r\n" + SECRET.encode() + b"\r\n\r\n", "the connection failed"),
    ],
)
def test_of_a_url_that_a_client_named_errors_say_status_and_kind_only(
    fork_free_node: InprocessNode, says: bytes, kind: str
) -> None:
    with hosting() as host:
        host.says = says
        for call in naming(host.url)[:2]:
            message = post(fork_free_node, call, None)["error"]["message"]
            assert host.url.rstrip("/") in message
            assert kind in message
            assert SECRET not in message
            assert SECRET.partition("-")[0] not in message


@pytest.fixture(scope="module")
def fork_free_node() -> Iterator[InprocessNode]:
    with inprocess_node(*QUICK) as node:
        yield node
