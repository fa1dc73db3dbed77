"""A node for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.inprocess_node import InprocessNode, inprocess_node


@pytest.fixture(scope="module")
def node() -> Iterator[InprocessNode]:
    with inprocess_node() as running:
        yield running
