"""A node of three chains that is killed: at any moment of its first start, and under load on all of them."""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from pathlib import Path

import pytest

from tests.support.inprocess_node import inprocess_node, run_command
from tests.support.node_process import running_node, starting_node
from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rollup.node_crashes import Traffic
from tests.support.rollup.pair import Pair

# ENTRESOL_NODE_KILLS=200 for the long run.
STARTS = int(os.environ.get("ENTRESOL_START_KILLS", "50"))
KILLS = int(os.environ.get("ENTRESOL_NODE_KILLS", "20")) // 2
COUNT = 3
CHAINS = ("--chains", str(COUNT))

pytestmark = pytest.mark.slow


def flags(path: Path) -> tuple[str, ...]:
    (path / "info.json").unlink(missing_ok=True)
    stored = ("--data-dir", str(path / "chains"), "--config-out", str(path / "info.json"))
    return (*CHAINS, *stored, "--log-level", "warning", "--settle-interval", "0.05")


def check_all_serve(path: Path) -> None:
    """Check that a node starts, and that each of its chains takes a deposit and settles."""
    with inprocess_node(*flags(path), info=path / "info.json") as node:
        pairs = Pair.connect_all(path / "info.json")
        assert len(pairs) == COUNT
        for pair in pairs:
            assert pair.arrived(pair.deposit(1))["status"] == "0x1"
            pair.settled()
            pair.close()
        assert node.stop() == 0
    check_agreement(path / "chains", count=COUNT)


def test_a_first_start_of_three_chains_that_is_killed_at_any_moment_is_completed_by_the_next(
    tmp_path: Path,
) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    started = time.monotonic()
    with running_node(*flags(whole), info=whole / "info.json"):
        seconds = time.monotonic() - started
    randomness = random.Random(os.environ.get("ENTRESOL_SEED", "entresol"))
    for number in range(STARTS):
        path = tmp_path / str(number)
        path.mkdir()
        with starting_node(*flags(path)) as node:
            # Nothing is written while modules are imported, in the first part of a start.
            time.sleep(seconds * randomness.uniform(0.3, 1.1))
            node.process.kill()
            node.process.wait()
        check_all_serve(path)


def test_what_any_of_three_chains_acknowledged_survives_kills_under_load(tmp_path: Path) -> None:
    randomness = random.Random(os.environ.get("ENTRESOL_SEED", "entresol"))
    traffic = [Traffic(seed) for seed in range(COUNT)]
    for life in itertools.count():
        with running_node(*flags(tmp_path), info=tmp_path / "info.json") as node:
            pairs = Pair.connect_all(tmp_path / "info.json")
            threads = [
                threading.Thread(target=of_chain.go_on, args=(pair,))
                for of_chain, pair in zip(traffic, pairs, strict=True)
            ]
            for thread in threads:
                thread.start()
            time.sleep(randomness.uniform(0.2, 1.5))
            node.process.kill()
            for thread in threads:
                thread.join()
            for pair in pairs:
                pair.close()
        if life >= KILLS and all(of_chain.deposits and of_chain.sent for of_chain in traffic):
            break
    with running_node(*flags(tmp_path), info=tmp_path / "info.json") as node:
        for of_chain, pair in zip(traffic, Pair.connect_all(tmp_path / "info.json"), strict=True):
            of_chain.check(pair)
            pair.settled()
            pair.close()
        assert node.stop() == 0
    check_agreement(tmp_path / "chains", count=COUNT)
    verified = run_command("verify", *CHAINS, "--data-dir", str(tmp_path / "chains"))
    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.count("matches its transactions") == COUNT + 1
