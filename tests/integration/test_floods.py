"""A node is flooded from one side, and serves another client all the while; `make bench ARGS=stalls` measures it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.robustness import account_floods
from tests.robustness.floods import (
    FLOODS,
    Flood,
    FloodProcess,
    request_milliseconds,
    running_floods,
)
from tests.support.http_server import RawConnection
from tests.support.node_process import RunningNode, running_node

SECONDS = float(os.environ.get("ENTRESOL_FLOOD_SECONDS", "0.5"))
"""How long a flood lasts at least."""
PATIENCE = 10.0
LEAST_SERVED = 10
"""Requests of the other client. On the slowest machine there are many more; before floods were limited, there was one."""

BESIDE = ("pipelined requests", "batches of 500 calls", "500 endless calls at a time")
"""Floods of one chain, while clients of another are served."""

ATTEMPTS = 5
"""Beside other work fewer requests arrive, of which more are validated; without a bound it makes no difference."""


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node("--log-level", "warning") as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.printed()


@pytest.fixture(scope="module")
def floods() -> Iterator[FloodProcess]:
    with running_floods() as running:
        yield running


def flood(
    floods: FloodProcess, node: RunningNode, sent: Flood, other_port: int | None = None
) -> None:
    """Send a flood for some time, and check that another client, which is connected already, is served meanwhile."""
    served = 0
    with RawConnection(other_port or node.port) as client:
        floods.start(node.port, sent)
        start = time.perf_counter()
        while (elapsed := time.perf_counter() - start) < SECONDS or served < LEAST_SERVED:
            assert elapsed < PATIENCE, f"{served} requests were served"
            request_milliseconds(client)
            served += 1
        floods.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", [flood for flood in FLOODS if not FLOODS[flood].flags])
def test_a_flood_does_not_keep_another_client_from_being_served(
    node: RunningNode, floods: FloodProcess, name: str
) -> None:
    flood(floods, node, FLOODS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [flood for flood in FLOODS if FLOODS[flood].flags])
def test_a_flood_of_a_node_with_other_flags_lets_another_client_be_served(
    floods: FloodProcess, name: str
) -> None:
    with running_node("--log-level", "warning", *FLOODS[name].flags) as node:
        flood(floods, node, FLOODS[name])
        assert node.stop() == 0
        assert "Traceback" not in node.printed()


@pytest.mark.slow
def test_a_flood_of_one_chain_lets_clients_of_another_be_served(
    floods: FloodProcess, tmp_path: Path
) -> None:
    info = tmp_path / "info.json"
    flags = ("--chains", "2", "--log-level", "warning", "--config-out", str(info))
    with running_node(*flags, info=info) as node:
        urls = [chain["http_url"] for chain in json.loads(info.read_text())["chains"]]
        for name in BESIDE:
            flood(floods, node, FLOODS[name], urlsplit(urls[1]).port)
        assert node.stop() == 0
        assert "Traceback" not in node.printed()


@pytest.mark.slow
@pytest.mark.parametrize("name", account_floods.LATE_FAILURES)
def test_late_failures_of_validations_cost_no_more_than_bad_signatures(name: str) -> None:
    """In processor time of the node. Each would take 0.7 ms of a worker if nothing bounded their sum."""
    measured: list[account_floods.Costs] = []
    with running_node("--log-level", "warning") as node:
        late = account_floods.LATE_FAILURES[name](node)
        for _ in range(ATTEMPTS):
            costs = account_floods.compare(node, late, 2 * SECONDS)
            if costs.late <= costs.bad_signature:
                return
            measured.append(costs)
    pytest.fail(f"they always cost more: {measured}")


@pytest.mark.slow
def test_a_flood_of_late_failures_lets_another_client_be_served(
    floods: FloodProcess,
) -> None:
    with running_node("--log-level", "warning") as node:
        flood(floods, node, account_floods.flood_of(account_floods.of_many_accounts(node)))
