"""A fresh L2 for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER
from tests.support.contracts.layer_two import L1_TOKEN, LayerTwo


@pytest.fixture
def l2() -> Iterator[LayerTwo]:
    layer = LayerTwo()
    yield layer
    layer.close()


@pytest.fixture
def crown(l2: LayerTwo) -> Address:
    """Return a token of L1, of which Alice has a thousand."""
    l2.deposit(1_000)
    return Address.parse(l2.read(ASSET_ROUTER, "l2TokenAddress(address)(address)", L1_TOKEN))
