"""A fresh L2 for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.contracts.layer_two import LayerTwo


@pytest.fixture
def l2() -> Iterator[LayerTwo]:
    """Return an L2 at its genesis."""
    layer = LayerTwo()
    yield layer
    layer.close()
