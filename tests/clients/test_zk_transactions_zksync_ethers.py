"""Transactions of type 0x71 by zksync-ethers: what is checked stands in `js/zk-transactions.mjs`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.clients.javascript import checks_of, run_checks
from tests.integration.nodes import RunningNode

pytestmark = pytest.mark.clients

FILE = "zk-transactions.mjs"


@pytest.fixture(scope="module")
def results(node: RunningNode) -> Mapping[str, str | None]:
    return run_checks(FILE, node.url)


@pytest.mark.parametrize("check", checks_of(FILE))
def test_zksync_ethers(results: Mapping[str, str | None], check: str) -> None:
    assert results[check] is None, results[check]
