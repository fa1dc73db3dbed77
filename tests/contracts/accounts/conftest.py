"""A fresh L2 with scripted accounts for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.contracts.accounts import ScriptedWorld
from tests.support.contracts.layer_two import ETHER


@pytest.fixture
def l2() -> Iterator[ScriptedWorld]:
    """Return an L2 at its genesis, with a testnet paymaster."""
    layer = ScriptedWorld(paymaster_balance=100 * ETHER)
    yield layer
    layer.close()
