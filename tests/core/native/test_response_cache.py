"""The response cache behind a dispatcher."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from entresol.cache_limits import CACHES
from entresol.rpc.jsonrpc.dispatch import Dispatcher, RequestLimits
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.types.block_id import BlockId
from tests.support.example_namespace import dispatch, request


class Library:
    """Cached methods, and how often they were called."""

    prefix = "library"

    def __init__(self) -> None:
        self.calls = 0

    @method(cached=True)
    def shelf(self) -> int:
        self.calls += 1
        return 7

    @method(cached=True)
    def page(self, block: BlockId) -> Raw | None:
        """Return the text of a block; block 0 has none."""
        self.calls += 1
        return None if block.number == 0 else Raw(b'{"of":"%b"}' % str(block).encode())

    @method(cached=True)
    def text(self, size: int) -> str:
        self.calls += 1
        return "x" * size

    @method()
    def clock(self) -> int:
        self.calls += 1
        return self.calls


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def dispatcher(library: Library) -> Dispatcher:
    return Dispatcher([library], limits=RequestLimits(batch=3, response_bytes=1 << 20))


def test_a_cached_result_is_returned_with_the_new_id(
    dispatcher: Dispatcher, library: Library
) -> None:
    dispatch(dispatcher, b'{"jsonrpc":"2.0","id":1,"method":"library_page","params":["0x5"]}')
    again = b'{"jsonrpc":"2.0","id":"two","method":"library_page","params":["0x5"]}'
    assert dispatch(dispatcher, again) == b'{"jsonrpc":"2.0","id":"two","result":{"of":"0x5"}}'
    assert library.calls == 1


@pytest.mark.parametrize(
    ("name", "params"),
    [
        pytest.param("library_clock", [], id="a method that does not say so"),
        pytest.param("library_page", ["latest"], id="a tag, which moves"),
        pytest.param("library_page", ["0x0"], id="null, which may become something"),
        pytest.param("library_text", [CACHES.cached_result], id="a long result"),
        pytest.param("library_text", [1, "x" * CACHES.cached_params], id="long parameters"),
    ],
)
def test_a_result_that_may_change_or_is_too_long_is_not_cached(
    dispatcher: Dispatcher, library: Library, name: str, params: list[Any]
) -> None:
    for _ in range(2):
        dispatch(dispatcher, request(name, *params))
    assert library.calls == 2


def test_invalidating_the_cache_removes_all_results(
    dispatcher: Dispatcher, library: Library
) -> None:
    dispatch(dispatcher, request("library_shelf"))
    dispatcher.invalidate_cache()
    dispatch(dispatcher, request("library_shelf"))
    assert library.calls == 2


def test_cached_results_of_a_batch_respect_the_response_limit() -> None:
    dispatcher = Dispatcher([Library()], limits=RequestLimits(batch=3, response_bytes=1_000))
    one = request("library_text", 500)
    assert b"result" in (dispatch(dispatcher, one) or b"")
    response = dispatch(dispatcher, b"[%b,%b]" % (one, one))
    assert json.loads(response or b"")["error"]["code"] == -32011


def test_cached_results_are_counted_like_others(dispatcher: Dispatcher) -> None:
    for _ in range(3):
        dispatch(dispatcher, request("library_shelf"))
    lines = dispatcher.render_metrics().splitlines()
    assert 'entresol_rpc_seconds_count{method="library_shelf"} 3' in lines
    assert 'entresol_rpc_seconds_bucket{method="library_shelf",le="+Inf"} 3' in lines
