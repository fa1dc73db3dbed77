"""Telling of requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from entresol.node.log.entries import BatchServed, RequestServed
from entresol.node.log.requests import RequestLog
from entresol.rpc.jsonrpc.connection import LocalConnection
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from tests.support.example_namespace import Toy, request


class Recorder:
    """Keeps entries as they are."""

    def __init__(self) -> None:
        self.entries: list[Any] = []

    def answered(self, entry: RequestServed) -> str:
        self.entries.append(entry)
        return ""

    def batch(self, entry: BatchServed) -> str:
        self.entries.append(entry)
        return ""

    def rejected(self, entry: object) -> str:
        raise NotImplementedError(entry)

    def more_rejected(self, entry: object) -> str:
        raise NotImplementedError(entry)

    def included(self, entry: object) -> str:
        raise NotImplementedError(entry)

    def note(self, entry: object) -> str:
        raise NotImplementedError(entry)


def told(body: bytes) -> Any:
    """Return what is told of a request, after comparing its answer with the one that nobody hears of."""
    recorder = Recorder()
    dispatcher = Dispatcher([Toy()])
    log = RequestLog(dispatcher.handle, recorder, lambda _line: None)

    async def ask() -> tuple[bytes | None, bytes | None]:
        answers = []
        for handler in (log, dispatcher.handle):
            answer = handler(body, LocalConnection())
            answers.append(answer if answer is None or isinstance(answer, bytes) else await answer)
        return answers[0], answers[1]

    first, second = asyncio.run(ask())
    assert first == second
    (entry,) = recorder.entries
    return entry


def test_a_request_is_told_with_its_time() -> None:
    entry = told(request("toy_chainId"))
    assert (entry.method, entry.failure) == ("toy_chainId", None)
    assert 0 < entry.seconds < 60


def test_what_is_answered_later_is_told_later() -> None:
    entry = told(request("toy_maybeLater", True))
    assert (entry.method, entry.failure) == ("toy_maybeLater", None)


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
def test_a_failure_is_told_with_its_code(body: bytes, method: str, code: int) -> None:
    entry = told(body)
    assert (entry.method, entry.failure.code) == (method, code)


def test_an_id_cannot_make_an_error_look_like_a_result() -> None:
    body = b'{"jsonrpc":"2.0","id":",\\"result\\":","method":"toy_nothing"}'
    assert told(body).failure.code == -32601


def test_a_notification_is_told_too() -> None:
    entry = told(b'{"jsonrpc":"2.0","method":"toy_chainId"}')
    assert (entry.method, entry.failure) == ("toy_chainId", None)


def test_a_batch_is_told_once_with_what_it_asked_for() -> None:
    body = b" [" + b",".join([request("toy_chainId")] * 2 + [request("toy_nothing"), b"3"]) + b"]"
    entry = told(body)
    assert entry.methods == {"toy_chainId": 2, "toy_nothing": 1, "(unreadable)": 1}
    assert (entry.failed, entry.failure.code) == (2, -32601)


@pytest.mark.parametrize(("body", "failed"), [(b"[]", 0), (b"[1,", 0)])
def test_a_batch_that_is_none_is_told_with_its_own_error(body: bytes, failed: int) -> None:
    entry = told(body)
    assert (entry.failed, entry.failure.code in {-32600, -32700}) == (failed, True)
