from __future__ import annotations

import zlib

from entresol.server.responses import encode
from entresol.server.static_files import StaticFile, no_files

BODY = b"floors " * 100
STYLE = StaticFile.of(BODY, "text/css", b"x-policy: strict\r\n")
PAGE = StaticFile.of(BODY, "text/html; charset=utf-8")
BROWSER = {b"accept": b"text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_file_has_a_tag_and_its_headers() -> None:
    response = STYLE.response({})
    assert response is not None
    assert response.body == BODY
    assert b"x-policy: strict\r\n" in response.headers
    assert STYLE.etag in response.headers


def test_a_client_that_accepts_gzip_gets_the_compressed_form() -> None:
    response = STYLE.response({b"accept-encoding": b"br, gzip"})
    assert response is not None
    assert response.is_compressed
    assert zlib.decompress(response.body, 31) == BODY


def test_a_client_that_has_the_file_gets_no_body() -> None:
    response = STYLE.response({b"if-none-match": b"W/" + STYLE.etag})
    assert response is not None
    assert response.status == 304
    assert b"content-length" not in encode(response)


def test_another_body_and_another_header_have_another_tag() -> None:
    tags = {STYLE.etag, PAGE.etag, StaticFile.of(b"x", "text/css").etag}
    assert len(tags) == 3


def test_only_a_client_that_accepts_html_gets_a_page() -> None:
    assert PAGE.response(BROWSER) is not None
    assert PAGE.response({b"accept": b"*/*"}) is None
    assert PAGE.response({}) is None


def test_no_files_is_empty() -> None:
    assert no_files() == {}
