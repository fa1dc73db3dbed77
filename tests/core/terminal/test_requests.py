"""Requests in the log, and calls that fail."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.server.handler import LocalConnection
from entresol.terminal.formats import BatchServed, JsonLogFormat, RequestServed
from entresol.terminal.requests import RequestLog
from tests.support.example_namespace import Toy, request


class Recorder(JsonLogFormat):
    """Records entries instead of formatting them."""

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def request(self, entry: RequestServed) -> str:
        self.entries.append(entry)
        return ""

    def batch(self, entry: BatchServed) -> str:
        self.entries.append(entry)
        return ""


def logged(body: bytes) -> Any:
    """Return the log entry of a request, after comparing its response with the one without a log."""
    recorder = Recorder()
    dispatcher = Dispatcher([Toy()])
    log = RequestLog(dispatcher.handle, recorder, lambda _line: None)

    async def ask() -> tuple[bytes | None, bytes | None]:
        responses = []
        for handler in (log, dispatcher.handle):
            response = handler(body, LocalConnection())
            responses.append(
                response if response is None or isinstance(response, bytes) else await response
            )
        return responses[0], responses[1]

    first, second = asyncio.run(ask())
    assert first == second
    (entry,) = recorder.entries
    return entry


def test_a_request_is_logged_with_its_time() -> None:
    entry = logged(request("toy_chainId"))
    assert (entry.method, entry.error) == ("toy_chainId", None)
    assert 0 < entry.seconds < 60


@pytest.mark.parametrize(
    ("body", "method", "code"),
    [
        (request("toy_nothing"), "toy_nothing", -32601),
        (request("toy_getBalance", "0x12"), "toy_getBalance", -32602),
        (b"{", "(unreadable)", -32700),
        (b"\xff", "(unreadable)", -32700),
        (b'{"id":1,"method":3}', "(unreadable)", -32600),
        (b'{"jsonrpc":"2.0","method":"toy_chainId","id":[]}', "toy_chainId", -32600),
    ],
)
def test_an_error_is_logged_with_its_code(body: bytes, method: str, code: int) -> None:
    entry = logged(body)
    assert (entry.method, entry.error.code) == (method, code)


def test_a_batch_is_logged_once_with_its_methods() -> None:
    body = b" [" + b",".join([request("toy_chainId")] * 2 + [request("toy_nothing"), b"3"]) + b"]"
    entry = logged(body)
    assert entry.methods == {"toy_chainId": 2, "toy_nothing": 1, "(unreadable)": 1}
    assert (entry.failed, entry.error.code) == (2, -32601)
