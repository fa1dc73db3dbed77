"""A node is flooded from one side, and serves another client all the while.

`python -m tests.robustness.floods` is the long run of the same; `make bench ARGS=stalls` compares with anvil.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.robustness.floods import FLOODS, flooding, latencies
from tests.support.node_process import RunningNode, running_node

SECONDS = float(os.environ.get("ENTRESOL_FLOOD_SECONDS", "2"))
LEAST_SERVED = 10
"""Requests of the other client. On the slowest machine there are many more; before floods were limited, there was one."""


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node("--log-level", "warning") as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.printed()


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_does_not_keep_another_client_from_being_served(
    node: RunningNode, name: str
) -> None:
    with flooding(node.port, name):
        assert len(latencies(node.port, SECONDS)) >= LEAST_SERVED
