from __future__ import annotations

import pytest

from entresol.server.head_cache import LONGEST, REMEMBERED, HeadCache
from entresol.server.request import HttpRequest
from entresol.server.responses import JSON, HttpResponse, encode

HEAD = b"POST /rpc HTTP/1.1\r\nhost: node\r\ncontent-length: 7\r\n\r\n"
BODY = b'{"a":1}'


def parsed(body: bytes) -> HttpRequest:
    """Return what a parser made of a request."""
    return HttpRequest("/rpc", "node", body, b"x: y\r\n", gzip=True)


def read(heads: HeadCache, data: bytes) -> HttpRequest | None:
    """Return the request that `data` is, if its head is known."""
    known = heads.find(data)
    body = known.body(data)
    return None if body is None else known.exchange(body)


@pytest.fixture
def heads() -> HeadCache:
    known = HeadCache()
    known.learn(HEAD + BODY, parsed(BODY))
    return known


def test_a_known_head_is_answered_as_before_with_the_new_body(heads: HeadCache) -> None:
    assert read(heads, HEAD + b"[1,2,3]") == parsed(b"[1,2,3]")


def test_the_start_of_an_answer_is_known_with_the_head(heads: HeadCache) -> None:
    answer = heads.find(HEAD + BODY).start + b"2\r\n\r\n{}"
    assert answer == encode(HttpResponse(200, JSON, b"{}"), b"x: y\r\n")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(HEAD.replace(b"node", b"evil") + BODY, id="another host"),
        pytest.param(HEAD + BODY[:-1], id="a body cut short"),
        pytest.param(HEAD + BODY + HEAD + BODY, id="two requests"),
        pytest.param(HEAD + b" {} \r\n ", id="no JSON at first sight"),
        pytest.param(HEAD[:-2], id="half a head"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_anything_else_has_to_be_parsed(heads: HeadCache, data: bytes) -> None:
    assert read(heads, data) is None


@pytest.mark.parametrize(
    ("data", "body"),
    [
        pytest.param(HEAD + b"7\r\n" + BODY + b"\r\n0\r\n\r\n", BODY, id="chunks"),
        pytest.param(HEAD + BODY + HEAD + BODY, BODY, id="two requests"),
        pytest.param(
            HEAD.replace(b"\r\n\r\n", b"\r\nx: %b\r\n\r\n" % bytes(LONGEST)) + BODY, BODY, id="long"
        ),
    ],
)
def test_what_is_not_one_short_head_and_its_body_is_not_learnt(data: bytes, body: bytes) -> None:
    known = HeadCache()
    known.learn(data, parsed(body))
    assert len(known) == 0


def test_no_more_heads_are_kept_than_allowed() -> None:
    known = HeadCache()
    for number in range(3 * REMEMBERED):
        known.learn(HEAD.replace(b"node", b"%d" % number) + BODY, parsed(BODY))
        assert len(known) <= REMEMBERED
