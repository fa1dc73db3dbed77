"""Any traffic on a chain that publishes is derived from L1 alone: the same chain in every response, and in every row."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.node.opening.development_keys import OPERATOR
from tests.support.derivation.node_traffic import (
    NodeTraffic,
    compare_responses,
    compare_stores,
    derive_command,
    derive_with_kills,
)
from tests.support.inprocess_node import InprocessNode, inprocess_node
from tests.support.node_process import DEVELOPMENT_FLAGS
from tests.support.polling import eventually
from tests.support.rollup.pair import Pair
from tests.support.rpc_client import HttpRpcClient

SEED = int(os.environ.get("ENTRESOL_DERIVE_SEED", "1"))
TRANSACTIONS = int(os.environ.get("ENTRESOL_DERIVE_TRANSACTIONS", "10000"))
"""How many transactions the long form sends; `make derive-traffic` sets it."""


@pytest.mark.slow
def test_some_random_traffic_is_derived(tmp_path: Path) -> None:
    play(tmp_path, seed=0, transactions=120, lives=2, kills=0)


@pytest.mark.slow
def test_much_random_traffic_is_derived_whenever_it_is_killed(tmp_path: Path) -> None:
    play(tmp_path, seed=SEED, transactions=TRANSACTIONS, lives=5, kills=6)


def play(path: Path, *, seed: int, transactions: int, lives: int, kills: int) -> None:
    """Let a node have traffic with restarts, derive its chain with kills, and compare the two."""
    traffic = NodeTraffic(seed)
    for life in range(1, lives):
        with operating(path) as (node, pair):
            traffic.meet(pair)
            if life == 1:
                traffic.begin()
            send(traffic, transactions * life // lives)
            node.stop()
    with operating(path) as (node, pair):
        traffic.meet(pair)
        send(traffic, transactions)
        traffic.end()
        batches = pair.totals()[0]
        command = derive_command(pair.l1.url, pair.bridgehub.address, path / "derived")
        printed, killed = derive_with_kills(command, kills, random.Random(seed))
        assert f"batch {batches:,}, " in printed
        sys.stderr.write(
            f"seed {seed}: {traffic.sent} sent, {batches} batches, {killed} kills. {printed}"
            f"{traffic.done}\n{traffic.rejected}\n"
        )
        compared = compare_with(pair, path)
        node.stop()
    rows = compare_stores(path / "derived", path / "operated")
    sys.stderr.write(f"seed {seed}: {compared} responses and {rows} rows are the same\n")
    assert sum(traffic.rejected.values()) < traffic.sent / 10


def send(traffic: NodeTraffic, count: int) -> None:
    """Go on until so many transactions were sent."""
    while traffic.sent < count:
        traffic.act()


def compare_with(pair: Pair, path: Path) -> int:
    """Compare responses with those of a node that opens a copy of the derived directory."""
    shutil.copytree(path / "derived", path / "opened")
    remote = ("--l1-url", pair.l1.url, "--operator-key", str(OPERATOR.secret))
    flags = ("--l1-confirmations", "0", "--data-dir", str(path / "opened"), *DEVELOPMENT_FLAGS)
    with inprocess_node(*remote, *flags) as opened:
        l2 = HttpRpcClient(opened.url)
        try:
            eventually(lambda: l2("zks_getFinalityStatus") == pair.l2("zks_getFinalityStatus"))
            return compare_responses(l2, pair.l2)
        finally:
            l2.close()


@contextlib.contextmanager
def operating(path: Path) -> Iterator[tuple[InprocessNode, Pair]]:
    """Run the node of the operator, whose batches are small."""
    info = path / "info.json"
    info.unlink(missing_ok=True)
    flags = ("--data-availability", "calldata", "--data-dir", str(path / "operated"))
    batches = ("--settle-interval", "0.2", "--batch-blocks", "10", "--silent")
    with inprocess_node("--config-out", str(info), *flags, *batches, info=info) as node:
        pair = Pair.connect(info)
        try:
            yield node, pair
        finally:
            pair.close()
