"""Bytes of answers."""

from __future__ import annotations

import zlib

import msgspec
import pytest

from entresol.server import ServerConfig, responses
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
def test_gzip_is_used_only_when_asked_for_by_name(header: bytes | None, *, accepted: bool) -> None:
    assert accepts_gzip(header) is accepted


def test_an_answer_without_content_has_no_length() -> None:
    assert (
        encode(HttpResponse(204, b"", b"", b"a: b\r\n"))
        == b"HTTP/1.1 204 No Content\r\na: b\r\n\r\n"
    )


def test_compressed_bodies_are_gzip() -> None:
    assert zlib.decompress(responses.gzip(b"a" * 5000, 1), 31) == b"a" * 5000


@pytest.mark.parametrize(
    "body", [responses.INTERNAL_ERROR, responses.TOO_MANY_REQUESTS, responses.too_big(7).body]
)
def test_own_errors_are_json_rpc(body: bytes) -> None:
    answer = msgspec.json.decode(body)
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", None)
    assert set(answer["error"]) >= {"code", "message"}


def test_every_setting_is_described() -> None:
    for field in msgspec.structs.fields(ServerConfig):
        info = msgspec.inspect.type_info(field.type)
        assert isinstance(info, msgspec.inspect.Metadata) or "description=" in str(field.type)


def test_settings_are_checked_when_they_are_read() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$.port"):
        msgspec.convert({"port": 70_000}, ServerConfig)
