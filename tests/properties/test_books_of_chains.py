"""Three chains with two base tokens on one L1: whatever happens, no asset is lost or made out of nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.primitives.assets import ETH_TOKEN
from entresol.primitives.values import Address
from tests.support.ecosystem.residents import NOBODY, FailedDeposit, Resident
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


class Ecosystem:
    """The users of all chains, and what is on its way between them and L1."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.residents: list[Resident] = []
        self.tokens: list[Address] = []
        self._withdrawals: list[tuple[int, str]] = []
        self._failed: list[tuple[int, FailedDeposit]] = []
        self._snapshot: tuple[str, list[tuple[int, str]], list[tuple[int, FailedDeposit]]] | None
        self._snapshot = None

    def meet(self, pairs: Sequence[Pair]) -> None:
        """Use the chains of a node that has just started; snapshots do not last."""
        self._snapshot = None
        self.residents = [Resident(it) for it in pairs]
        if not self.tokens:
            first = self.residents[0]
            others = [it.base_token for it in self.residents[1:]]
            self.tokens = [ETH_TOKEN, *others, first.pair.create_token(10**30)]
            for token in self.tokens[1:]:
                first.approve(token)

    def act(self) -> None:
        """Do something."""
        actions: list[Callable[[], None]] = [
            *[self._deposit] * 4, *[self._withdraw] * 4, *[self._claim] * 3, *[self._fail] * 2,
            *[self._recover] * 2, self._set_ratio, self._take_snapshot, self._revert,
        ]  # fmt: skip
        self.random.choice(actions)()

    def _deposit(self) -> None:
        resident, token = self._any()
        amount = self.random.randrange(1, 10**6)
        before = resident.balance(token)
        requested = resident.deposit(token, amount)
        assert resident.pair.l2.receipt(requested)["status"] == "0x1"
        assert resident.balance(token) >= before + amount

    def _fail(self) -> None:
        """Deposit to where nothing can arrive."""
        resident, token = self._any()
        if token == resident.base_token:
            return
        amount = self.random.randrange(1, 10**6)
        requested = resident.deposit(token, amount, NOBODY)
        assert resident.pair.l2.receipt(requested)["status"] == "0x0"
        failed = FailedDeposit(token, amount, NOBODY, requested)
        self._failed.append((self.residents.index(resident), failed))

    def _withdraw(self) -> None:
        resident, token = self._any()
        most = min(resident.balance(token), 10**6)
        if most > 0:
            sent = resident.withdraw(token, self.random.randrange(1, most + 1))
            self._withdrawals.append((self.residents.index(resident), sent))

    def _claim(self) -> None:
        if self._withdrawals:
            place, sent = self._withdrawals.pop(self.random.randrange(len(self._withdrawals)))
            self.residents[place].claim(sent)

    def _recover(self) -> None:
        """Claim back a deposit that failed."""
        if self._failed:
            place, failed = self._failed.pop(self.random.randrange(len(self._failed)))
            self.residents[place].recover(failed)

    def _set_ratio(self) -> None:
        """Change what ether costs in a base token."""
        ratio = f"{self.random.randrange(1, 5000)}/{self.random.randrange(1, 9)}"
        self.random.choice(self.residents[1:]).pair.l2("entresol_setBaseTokenRatio", ratio)

    def _take_snapshot(self) -> None:
        taken = self.random.choice(self.residents).pair.l1("evm_snapshot")
        self._snapshot = (taken, list(self._withdrawals), list(self._failed))

    def _revert(self) -> None:
        """Let all chains be what they were, if they were remembered."""
        if self._snapshot is not None:
            taken, self._withdrawals, self._failed = self._snapshot
            self._snapshot = None
            assert self.random.choice(self.residents).pair.l2("evm_revert", taken)

    def _any(self) -> tuple[Resident, Address]:
        return self.random.choice(self.residents), self.random.choice(self.tokens)


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
