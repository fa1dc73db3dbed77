from __future__ import annotations

import pytest

from entresol.server.http.request import HeadCache, HttpRequest

HEAD = b"POST /rpc HTTP/1.1\r\nhost: node\r\ncontent-length: 7\r\n\r\n"
BODY = b'{"a":1}'


def parsed(body: bytes) -> HttpRequest:
    """Return the request as the parser returns it."""
    return HttpRequest("/rpc", "node", body, b"x: y\r\n", gzip=True)


def read(heads: HeadCache, data: bytes) -> HttpRequest | None:
    """Return the request in `data`, if its head is cached."""
    head = heads.find(data)
    body = head.body(data)
    return None if body is None else head.request(body)


@pytest.fixture
def heads() -> HeadCache:
    heads = HeadCache()
    heads.add(HEAD + BODY, parsed(BODY))
    return heads


def test_a_cached_head_gives_the_same_request_with_the_new_body(heads: HeadCache) -> None:
    assert read(heads, HEAD + b"[1,2,3]") == parsed(b"[1,2,3]")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(HEAD.replace(b"node", b"evil") + BODY, id="another host"),
        pytest.param(HEAD + BODY[:-1], id="a body cut short"),
        pytest.param(HEAD + BODY + HEAD + BODY, id="two requests"),
        pytest.param(HEAD + b" {} \r\n ", id="no JSON in the first byte"),
        pytest.param(HEAD[:-2], id="half a head"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_anything_else_has_to_be_parsed(heads: HeadCache, data: bytes) -> None:
    assert read(heads, data) is None
