"""A node for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clients.layers import KINDS, Layers, running_layers
from tests.support.inprocess_node import InprocessNode, inprocess_node


@pytest.fixture(scope="module")
def node() -> Iterator[InprocessNode]:
    with inprocess_node() as running:
        yield running


@pytest.fixture(scope="module", params=KINDS)
def layers(request: pytest.FixtureRequest) -> Iterator[Layers]:
    with running_layers(request.param) as running:
        yield running
