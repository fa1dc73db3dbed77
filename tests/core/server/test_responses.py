"""Responses and their bytes."""

from __future__ import annotations

import pytest

from entresol.server.responses import accepts_gzip


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
