"""Responses and their bytes."""

from __future__ import annotations

import zlib

import pytest

from entresol.server.responses import (
    DocumentFormat,
    DocumentRejections,
    HttpResponse,
    accepts_gzip,
    encode,
    gzip,
)

NOTES = DocumentFormat(
    name="note",
    media_types=(b"application/note",),
    malformed=b"malformed",
    rate_limited=b"rate limited",
    too_large=b"over %d",
    overloaded=b"busy",
    internal_error=b"failed",
)


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (None, False),
        (b"gzip", True),
        (b"deflate, GZIP;q=1.0, br", True),
        (b"deflate, gzip;q=0.1", True),
        (b"gzip; q=0", False),
        (b"gzip;q=0.000", False),
        (b"x-gzip", False),
        (b"*", False),
    ],
)
def test_gzip_is_used_only_if_the_client_names_it(header: bytes | None, *, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


def test_a_response_without_content_has_no_length() -> None:
    assert (
        encode(HttpResponse(204, b"", b"", b"a: b\r\n"))
        == b"HTTP/1.1 204 No Content\r\na: b\r\n\r\n"
    )


def test_compressed_bodies_are_gzip() -> None:
    assert zlib.decompress(gzip(b"a" * 5000, 1), 31) == b"a" * 5000


@pytest.mark.parametrize("charset", [b"", b"; charset=utf-8", b";charset=utf-8"])
def test_media_types_are_accepted_with_and_without_charset(charset: bytes) -> None:
    assert b"application/note" + charset in NOTES.content_types


def test_rejections_have_bodies_of_the_document_format() -> None:
    rejections = DocumentRejections(NOTES, body_limit=7)
    assert rejections.malformed.body == b"malformed"
    assert rejections.rate_limited.body == b"rate limited"
    assert rejections.too_large.body == b"over 7"
    assert b"a note as the body" in rejections.wrong_method.body
