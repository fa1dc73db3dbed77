"""Random bundles between three chains on one L1: supplies are exact, and each is executed once or cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from entresol.node.config.schema import SETTINGS, NodeConfig
from tests.support.ecosystem.ecosystem import Ecosystem
from tests.support.ecosystem.interop_traffic import LIAR, InteropTraffic
from tests.support.ecosystem.several_chains import SeveralChains, several_chains
from tests.support.node_process import RunningNode, running_node
from tests.support.rollup.layer_consistency import bookkeepers, check_stored_books
from tests.support.rollup.node_crashes import DISCONNECTED
from tests.support.rollup.pair import Pair
from tests.support.rollup.supply import check_books

LIVES = 2
STEPS = 20
KILLS = 3
LIFE_SECONDS = 3
TRAFFIC_SECONDS = float(os.environ.get("ENTRESOL_TRAFFIC_SECONDS", "600"))
"""How long the traffic of `make test-long` lasts; `make traffic` sets an hour."""
TABLES = """
[[chains]]
chain_id = 270

[[chains]]
chain_id = 271

[[chains]]
chain_id = 272
base_token = "SIX"
base_token_decimals = 6
base_token_ratio = "628/17"
"""


def configured(path: Path) -> NodeConfig:
    """Return the settings of the chains, in a directory."""
    flags = {"port": 0, "l1_port": 0, "l1_delay": 0, "settle_interval": 0.02}
    file = path / "entresol.toml"
    file.write_text(TABLES)
    return SETTINGS.load({**flags, "data_dir": str(path / "chains")}, {}, file)


def check(chains: SeveralChains, traffic: InteropTraffic) -> None:
    keepers, liar = bookkeepers(chains.node), traffic.liar
    tokens = traffic.ecosystem.tokens[1:]
    if liar is not None and liar.token is not None:
        keepers[LIAR].forged[liar.asset] = liar.forged
        tokens = [*tokens, liar.token]
    chains.loop.run(check_books(keepers, tokens, traffic.own))


def test_the_books_of_l1_and_the_supplies_of_chains_agree_after_every_step(tmp_path: Path) -> None:
    ecosystem, config = Ecosystem(0), configured(tmp_path)
    for _ in range(LIVES):
        with several_chains(config) as chains:
            ecosystem.meet(chains.pairs)
            for _ in range(STEPS):
                ecosystem.act()
                books = check_books(bookkeepers(chains.node), ecosystem.tokens[1:])
                chains.loop.run(books)


@pytest.mark.slow
def test_random_bundles_leave_the_books_exact_and_are_executed_once(tmp_path: Path) -> None:
    play(tmp_path, 0)


@pytest.mark.slow
def test_bundles_of_any_length_of_time_leave_the_books_exact(tmp_path: Path) -> None:
    deadline, seed = time.monotonic() + TRAFFIC_SECONDS, 1
    while time.monotonic() < deadline:
        sys.stderr.write(f"seed {seed}\n")
        for number, step in enumerate((play, kill)):
            folder = tmp_path / f"{seed}-{number}"
            folder.mkdir()
            step(folder, seed)
            shutil.rmtree(folder)
        seed += 1


def play(path: Path, seed: int) -> None:
    """Send bundles beside everything else, restart, and finish what was begun."""
    traffic, config = InteropTraffic(seed, has_liar=seed % 2 == 0), configured(path)
    for _ in range(LIVES):
        with several_chains(config) as chains:
            traffic.meet(chains.pairs)
            for _ in range(STEPS):
                traffic.act()
                check(chains, traffic)
            traffic.go_on()
    with several_chains(config) as chains:
        traffic.meet(chains.pairs)
        traffic.drain()
        check(chains, traffic)


@pytest.mark.slow
def test_kills_lose_and_double_no_bundle(tmp_path: Path) -> None:
    kill(tmp_path, 0)


def kill(path: Path, seed: int) -> None:
    """Send bundles while the node is killed again and again, and finish what was begun."""
    traffic, config = InteropTraffic(seed), configured(path)
    for _ in range(KILLS):
        with running(path) as (node, pairs):
            traffic.meet(pairs)
            seconds = traffic.random.uniform(0.1, LIFE_SECONDS)
            killer = threading.Timer(seconds, node.process.kill)
            killer.start()
            with contextlib.suppress(*DISCONNECTED):
                while True:
                    traffic.act()
            killer.join()
        traffic.ecosystem.stopped.clear()
        asyncio.run(check_stored_books(config, traffic.ecosystem.tokens[1:], traffic.own))
    with running(path) as (_, pairs):
        traffic.meet(pairs)
        traffic.drain()
    asyncio.run(check_stored_books(config, traffic.ecosystem.tokens[1:], traffic.own))


@contextlib.contextmanager
def running(path: Path) -> Iterator[tuple[RunningNode, list[Pair]]]:
    info = path / "info.json"
    info.unlink(missing_ok=True)
    flags = ("--config", str(path / "entresol.toml"), "--data-dir", str(path / "chains"))
    with running_node(*flags, "--config-out", str(info), "--silent", info=info) as node:
        pairs = Pair.connect_all(info)
        try:
            yield node, pairs
        finally:
            for pair in pairs:
                pair.close()
