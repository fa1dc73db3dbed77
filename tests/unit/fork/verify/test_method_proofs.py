"""Which methods about the past are proven with `--fork-verify`, and by what."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from entresol.fork.verify.method_proofs import PROVEN, UNPROVABLE
from entresol.fork.verify.verified_reads import VerifiedReads
from entresol.node.config.schema import NodeConfig
from entresol.node.recipes.ecosystem import ecosystem
from entresol.rpc.jsonrpc.method import Past

DOCS = Path(__file__).resolve().parents[4] / "docs" / "forks.md"
STATES = {"eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt"}
"""Read as executions read them."""
HEADERS = {"eth_getHeaderByNumber", "eth_getHeaderByHash", "erigon_getHeaderByNumber"}
"""Cut from the block."""


@cache
def past_methods() -> dict[str, Past]:
    """Return what a fork does with the past, by the name of each method that asks for it."""
    node = ecosystem(NodeConfig())
    try:
        methods = [
            method for one in node.services for method in one.api.dispatcher.methods.values()
        ]
    finally:
        asyncio.run(node.stop())
    return {method.name: method.past for method in methods if method.past not in (None, Past.LOCAL)}


def test_every_method_that_asks_for_the_past_says_what_proves_it() -> None:
    asked = set(past_methods())
    assert len(asked) > 60
    assert asked == set(PROVEN) | set(UNPROVABLE)
    assert not set(PROVEN) & set(UNPROVABLE)


def test_what_is_said_to_be_proven_by_a_result_is_answered_from_it() -> None:
    any_client: Any = None
    answered = VerifiedReads(any_client, any_client, any_client).methods
    passed = {
        name
        for name, past in past_methods().items()
        if past in {Past.REMOTE, Past.STATE, Past.SPLIT}
    }
    assert (passed & set(PROVEN)) - STATES - HEADERS - {"eth_getFilterLogs"} == answered
    assert not answered & set(UNPROVABLE)


def test_what_is_executed_is_said_to_be() -> None:
    for name, past in past_methods().items():
        if past in {Past.EXECUTE, Past.REPLAY}:
            assert PROVEN[name].startswith("executed here")


def test_the_page_about_forks_has_the_same_table() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for heading, methods in (
        ("| method below the anchor | proven by |", PROVEN),
        ("| method below the anchor | not proven, and rejected, because |", UNPROVABLE),
    ):
        assert _table(page, heading) == dict(methods)


def _table(page: str, heading: str) -> Mapping[str, str]:
    """Return the rows of a table, by method."""
    after = page.split(heading + "\n", 1)[1].splitlines()
    found: dict[str, str] = {}
    for row in after[1 : after.index("")]:
        _, names, text, _ = (it.strip() for it in row.split("|"))
        found |= dict.fromkeys(re.findall(r"`(\w+)`", names), text)
    return found
