from __future__ import annotations

import pytest

from entresol.server.document_format import DocumentFormat, DocumentRejections

NOTES = DocumentFormat(
    name="note",
    media_types=(b"application/note",),
    malformed=b"malformed",
    rate_limited=b"rate limited",
    too_large=b"over %d",
    overloaded=b"busy",
    internal_error=b"failed",
)


@pytest.mark.parametrize("charset", [b"", b"; charset=utf-8", b";charset=utf-8"])
def test_media_types_are_accepted_with_and_without_charset(charset: bytes) -> None:
    assert b"application/note" + charset in NOTES.content_types


def test_rejections_have_bodies_of_the_document_format() -> None:
    rejections = DocumentRejections(NOTES, body_limit=7)
    assert rejections.malformed.body == b"malformed"
    assert rejections.rate_limited.body == b"rate limited"
    assert rejections.too_large.body == b"over 7"
    assert b"a note as the body" in rejections.wrong_method.body
