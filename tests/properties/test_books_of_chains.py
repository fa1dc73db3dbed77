"""Three chains with two base tokens on one L1: whatever happens, no asset is lost or made out of nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from pathlib import Path

import pytest

from entresol.node.config.schema import SETTINGS, NodeConfig
from tests.support.ecosystem.ecosystem import Ecosystem
from tests.support.ecosystem.several_chains import several_chains
from tests.support.node_process import running_node
from tests.support.rollup.layer_consistency import bookkeepers, check_stored_books
from tests.support.rollup.node_crashes import DISCONNECTED
from tests.support.rollup.pair import Pair
from tests.support.rollup.supply import check_books
from tests.support.run.examples import tries_many

LIVES = 2
STEPS = 20
KILLS = int(os.environ.get("ENTRESOL_NODE_KILLS", "20")) // 4
TABLES = """
[[chains]]
chain_id = 270

[[chains]]
chain_id = 271
base_token = "ZOO"
base_token_ratio = "3000"

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


@pytest.mark.parametrize("seed", range(20 if tries_many() else 1))
def test_the_books_of_l1_and_the_supplies_of_chains_agree_after_every_step(
    tmp_path: Path, seed: int
) -> None:
    ecosystem, config = Ecosystem(seed), configured(tmp_path)
    for _ in range(LIVES):
        with several_chains(config) as chains:
            ecosystem.meet(chains.pairs)
            for _ in range(STEPS):
                ecosystem.act()
                books = check_books(bookkeepers(chains.node), ecosystem.tokens[1:])
                chains.loop.run(books)


@pytest.mark.slow
def test_they_agree_whenever_the_node_is_killed(tmp_path: Path) -> None:
    ecosystem, config = Ecosystem(0), configured(tmp_path)
    info = tmp_path / "info.json"
    flags = ("--config", str(tmp_path / "entresol.toml"), "--data-dir", str(tmp_path / "chains"))
    for _ in range(KILLS):
        info.unlink(missing_ok=True)
        with running_node(*flags, "--config-out", str(info), "--silent", info=info) as node:
            pairs = Pair.connect_all(info)
            ecosystem.meet(pairs)
            killer = threading.Timer(ecosystem.random.uniform(0.1, 2), node.process.kill)
            killer.start()
            with contextlib.suppress(*DISCONNECTED):
                while True:
                    ecosystem.act()
            killer.join()
            for pair in pairs:
                pair.close()
        asyncio.run(check_stored_books(config, ecosystem.tokens[1:]))
