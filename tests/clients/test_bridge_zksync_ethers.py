"""zksync-ethers between two layers: what is checked stands in `js/bridge-zksync-ethers.mjs`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.clients.javascript import checks_of
from tests.clients.layers import KINDS, run_on_each

pytestmark = pytest.mark.clients

FILE = "bridge-zksync-ethers.mjs"


@pytest.fixture(scope="module")
def results() -> Mapping[str, Mapping[str, str | None]]:
    return run_on_each(FILE)


@pytest.mark.parametrize("l1", KINDS)
@pytest.mark.parametrize("check", checks_of(FILE))
def test_zksync_ethers(
    results: Mapping[str, Mapping[str, str | None]], l1: str, check: str
) -> None:
    assert results[l1][check] is None, results[l1][check]
