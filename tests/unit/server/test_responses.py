"""Responses and their bytes."""

from __future__ import annotations

import pytest

from entresol.server.responses import HttpResponse, accepts_gzip, encode


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
