"""What a producer answers on the path of forwarded requests, which every client can reach."""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any, cast

import pytest

from entresol.replication.http_upstream import NOT_PRODUCER, PATH, ClusterHandler
from entresol.rpc.jsonrpc.connection import LocalConnection

SEQ = 7


def answer(path: str, *, produces: bool = True) -> bytes | None:
    """Return what a node that has applied `SEQ` answers."""
    production = SimpleNamespace(is_over=False) if produces else None
    member = cast("Any", SimpleNamespace(seq=SEQ, production=production))
    handler = ClusterHandler(member, lambda body, _connection: body, cast("Any", None))
    response = handler(b"{}", LocalConnection(path))
    assert inspect.isawaitable(response)

    async def awaited() -> bytes | None:
        return await response

    return asyncio.run(awaited())


def test_a_producer_answers_with_its_own_position() -> None:
    assert answer(f"{PATH}{SEQ}") == b"7\n{}"


def test_a_node_that_does_not_produce_says_so() -> None:
    assert answer(f"{PATH}{SEQ}", produces=False) == NOT_PRODUCER


@pytest.mark.parametrize(
    "position",
    ["8", "", "-1", "+1", "1.0", "1/", "\u0663", "9" * 5_000, "0" * 5_000 + "1", "x"],
    ids=[
        "later",
        "none",
        "negative",
        "signed",
        "fraction",
        "path",
        "arabic",
        "huge",
        "long",
        "text",
    ],
)
def test_a_position_that_it_has_not_applied_is_not_answered(position: str) -> None:
    assert answer(PATH + position) == NOT_PRODUCER
