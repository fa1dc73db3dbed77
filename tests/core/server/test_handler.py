"""Which page or handler a request gets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from entresol.server.handler import PathRouter


def handler(name: bytes) -> Any:
    return lambda body, _connection: name + body


@pytest.mark.parametrize(
    ("path", "handled"), [("/", b"here!"), ("/explorer/l1", b"there!"), ("/eth_call", b"here!")]
)
def test_a_document_goes_to_the_handler_of_its_path(path: str, handled: bytes) -> None:
    router = PathRouter(handler(b"here"))
    router.add("/explorer/l1", handler(b"there"))
    connection: Any = SimpleNamespace(path=path)
    assert router(b"!", connection) == handled
