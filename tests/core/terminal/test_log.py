from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.server.handler import LocalConnection
from entresol.server.responses import BAD_REQUEST
from entresol.terminal.config import LogConfig
from entresol.terminal.log import NodeLog
from entresol.terminal.transactions import MAX_LOGGED_REJECTIONS
from entresol.terminal.writer import TerminalWriter
from tests.support.example_namespace import Toy, request


class Streams:
    """Two files instead of the terminal."""

    def __init__(self, directory: Path) -> None:
        self._paths = directory / "out", directory / "err"
        self.handles = [os.open(path, os.O_WRONLY | os.O_CREAT) for path in self._paths]

    def log(self, **settings: Any) -> NodeLog:
        return NodeLog(LogConfig(**settings), TerminalWriter(*self.handles))

    def read(self) -> tuple[str, str]:
        out, err = (path.read_text(encoding="utf-8") for path in self._paths)
        return out, err


@pytest.fixture
def streams(tmp_path: Path) -> Iterator[Streams]:
    streams = Streams(tmp_path)
    yield streams
    for handle in streams.handles:
        os.close(handle)


@pytest.mark.parametrize("settings", [{"silent": True}, {"log_level": "warning"}])
def test_a_handler_is_not_wrapped_if_requests_are_not_logged(
    streams: Streams, settings: dict[str, Any]
) -> None:
    handler = Dispatcher([Toy()]).handle
    log = streams.log(**settings)
    layer = log.for_chain()
    assert layer.wrap(handler) == handler
    assert layer.on_rejection() is None
    log.close()


async def test_suppressed_rejections_are_counted_when_the_node_stops(streams: Streams) -> None:
    log = streams.log()
    layer_one, other = log.for_chain("L1"), log.for_chain("300")
    reject = layer_one.on_rejection()
    assert reject is not None
    assert other.on_rejection() is not None
    for _ in range(MAX_LOGGED_REJECTIONS + 5):
        reject(BAD_REQUEST, LocalConnection())
    # That of another chain changes nothing here.
    other.unfollow()
    layer_one.unfollow()
    log.close()
    lines = streams.read()[0].splitlines()
    assert all(line.startswith("L1 (rejected) ") for line in lines)
    assert (len(lines), lines[-1]) == (MAX_LOGGED_REJECTIONS + 1, "L1 (rejected) 5 more")


@pytest.mark.parametrize("settings", [{}, {"silent": True}])
def test_an_internal_error_is_logged_with_its_request_id_and_stack_trace(
    streams: Streams, settings: dict[str, Any]
) -> None:
    log = streams.log(**settings)
    root = logging.getLogger()
    root.addHandler(log.handler)
    answer = Dispatcher([Toy()]).handle(request("toy_fail", "boom"), LocalConnection())
    log.close()
    assert isinstance(answer, bytes)
    error = json.loads(answer)["error"]
    out, err = streams.read()
    assert (error["code"], error["message"], out) == (-32603, "Internal error", "")
    assert err.startswith(f"error: request {error['data']}: toy_fail failed\nTraceback ")
    assert err.rstrip().endswith("RuntimeError: secret: boom")
    assert log.handler not in root.handlers


def test_requests_are_not_written_while_the_log_is_disabled(streams: Streams) -> None:
    log = streams.log()
    layer = log.for_chain("L1")
    handler = layer.wrap(Dispatcher([Toy()]).handle)
    layer.set_enabled(False)
    handler(request("toy_anything"), LocalConnection())
    layer.set_enabled(True)
    handler(request("toy_numbers", [3]), LocalConnection())
    log.close()
    out, _ = streams.read()
    assert "toy_numbers" in out
    assert "toy_anything" not in out
