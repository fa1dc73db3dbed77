"""A node for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.nodes import RunningNode, running_node


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running
