"""Fixture of both kinds of L1: the embedded one and anvil."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.rollup.layer_ones import SteeredLayerOne, layer_one


@pytest.fixture(params=["embedded", pytest.param("anvil", marks=pytest.mark.peer)])
def steered(request: pytest.FixtureRequest) -> Iterator[SteeredLayerOne]:
    """Return an L1 with a fresh chain."""
    with layer_one(request.param) as started:
        yield started
