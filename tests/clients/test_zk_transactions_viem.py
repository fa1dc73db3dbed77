"""viem/zksync: what is checked stands in `js/zk-transactions-viem.mjs`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.clients.javascript import checks_of, run_checks
from tests.integration.nodes import RunningNode

pytestmark = pytest.mark.clients

FILE = "zk-transactions-viem.mjs"


@pytest.fixture(scope="module")
def results(node: RunningNode) -> Mapping[str, str | None]:
    return run_checks(FILE, node.url)


@pytest.mark.parametrize("check", checks_of(FILE))
def test_viem_zksync(results: Mapping[str, str | None], check: str) -> None:
    assert results[check] is None, results[check]
