"""zksync-ethers between two layers: what is checked stands in `js/bridge-zksync-ethers.mjs`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.clients.javascript import checks_of, run_checks
from tests.clients.layers import Layers

pytestmark = pytest.mark.clients

FILE = "bridge-zksync-ethers.mjs"


@pytest.fixture(scope="module")
def results(layers: Layers) -> Mapping[str, str | None]:
    return run_checks(FILE, layers.url, layers.l1_url)


@pytest.mark.parametrize("check", checks_of(FILE))
def test_zksync_ethers(results: Mapping[str, str | None], check: str) -> None:
    assert results[check] is None, results[check]
