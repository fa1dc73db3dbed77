"""Kills beside a hostile L1, as `tests/integration/test_hostile_l1.py` runs them.

A node settles on a real anvil that reorgs, stops and restarts, through a proxy that lies. It is killed again and
again, at chosen moments of its conversation with L1 and at any. In the end L1 is honest, and the node must have lost,
repeated and invented nothing.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from entresol.node.config.schema import L1Config
from tests.robustness.bridge_traffic import BridgeTraffic
from tests.robustness.hostile_l1 import OUTAGES, HostileL1
from tests.robustness.lies import FAILURES, LIES, LOGS, RECEIPT, SEND
from tests.robustness.lying_l1 import LyingL1, Window, lying_l1
from tests.support.anvil import RestartableAnvil, free_port
from tests.support.node_process import DEVELOPMENT_FLAGS, RunningNode, starting_node
from tests.support.polling import eventually
from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.node_crashes import operator_nonce
from tests.support.rollup.pair import ETHER, Pair
from tests.support.rpc_client import get

OPERATOR: Final = ACCOUNTS[1]
DEPTH: Final = 3
CONFIRMATIONS: Final = DEPTH + 1
PATIENCE_SECONDS: Final = 15.0
MAX_LATER_KILLS: Final = 20
"""How many kills may follow those that were asked for, until every kind of lie and event has hit something."""

GAS_ON_L1: Final = 1_000_000

MISSED: Final = "missed:"
STARTING: Final = "while starting"
ANYTIME: Final = "at any moment"
WINDOWS: Final[dict[str, Window | None]] = {
    STARTING: Window("eth_call", answered=True),
    "before a transaction is sent": Window(SEND, answered=False),
    "before its response": Window(SEND, answered=True),
    "with deposits unread": Window(LOGS, answered=True),
    "with a receipt unread": Window(RECEIPT, answered=True),
    "before signing": Window("eth_estimateGas", answered=True),
    ANYTIME: None,
}


class Run:
    """One attack: a node that is killed, its users, and its L1."""

    def __init__(
        self, path: Path, anvil: RestartableAnvil, proxy: LyingL1, seed: int, confirmations: int
    ) -> None:
        self.anvil = anvil
        self.proxy = proxy
        # A reorg below the confirmed blocks may only move deposits: any other stops them, as it should.
        keeps = confirmations < DEPTH
        self.l1 = HostileL1(anvil, proxy, seed + 1, depth=DEPTH, keeps=keeps)
        self.traffic = BridgeTraffic(seed + 2)
        self.kills: Counter[str] = Counter()
        self._path = path
        self._random = random.Random(seed + 3)
        self._confirmations = confirmations
        self._info = path / "info.json"
        self._log = path / "node.log"
        self._depositing: threading.Thread | None = None

    # The attack

    def begin(self) -> None:
        """Deploy the contracts, and start whatever goes on beside the node."""
        with self.node() as starting:
            self.ready(starting)
            pair = self.connect()
            self.token = pair.create_token()
            self.nonce = operator_nonce(pair, OPERATOR.address)
            # So that what is withdrawn can be paid.
            pair.arrived(pair.deposit(ETHER))
            self.l1.begin(pair.bridgehub.address, OPERATOR.address)
            pair.close()
        self.proxy.lies = True
        arguments = (self.connect(), self.token)
        self._depositing = threading.Thread(target=self.traffic.use_l1, args=arguments)
        self._depositing.start()

    def kill(self, moment: str) -> None:
        """Let the node live until `moment`, and kill it."""
        with self.node() as starting:
            if moment == STARTING:
                self._end(starting, moment)
                return
            node = self.ready(starting)
            pair, killed = self.connect(), threading.Event()
            self.traffic.check(pair, 20)
            users = threading.Thread(target=self.traffic.use_l2, args=(pair, killed))
            users.start()
            killed.wait(self._random.uniform(0.1, 0.8))
            self._end(node, moment)
            killed.set()
            users.join()
            pair.close()

    def _end(self, node: RunningNode, moment: str) -> None:
        window, hit = WINDOWS[moment], True
        if window is not None:
            hit = self.proxy.at(window, node.process.kill).wait(PATIENCE_SECONDS)
            self.proxy.disarm()
        node.process.kill()
        node.process.wait()
        self.kills[moment if hit else f"{MISSED} {moment}"] += 1
        self._keep_log(node, moment)

    def quieten(self) -> None:
        """Let L1 be honest from now on, and wait until no reorg reaches what it has."""
        self.traffic.stopped.set()
        if self._depositing is not None:
            self._depositing.join()
        self.proxy.lies = self.l1.hostile = False
        self.l1.mine_more()

    def stop(self) -> None:
        """Stop whatever goes on beside the node."""
        self.traffic.stopped.set()
        if self._depositing is not None:
            self._depositing.join()
        self.l1.stop()

    def finish(self) -> None:
        """Check everything."""
        self.quieten()
        with self.node() as starting:
            node, pair = self.ready(starting), self.connect()
            self.wait_for_deposits(pair)
            eventually(lambda: not any(problems(node)), node.printed)
            pair.settled()
            self.traffic.check(pair)
            self.traffic.claim_rest(pair)
            pair.close()
            assert node.stop() == 0, node.printed()
            self._keep_log(node, "the end")
        self.l1.stop()
        l1 = L1Config(l1_url=self.anvil.url, operator_key=str(OPERATOR.secret))
        check_agreement(self._path / "data", [self.token], l1=l1, nonce=self.nonce)

    def wait_for_deposits(self, pair: Pair) -> None:
        """Wait until L2 has the deposits that L1 still has."""
        calls = [("eth_getTransactionReceipt", [deposit]) for deposit in self.traffic.deposits]
        survived = [it for it in pair.l1.batch(calls) if it is not None]
        self.traffic.counts["deposits on L1"] = len(survived)
        self.traffic.counts["deposits lost in reorgs"] = len(calls) - len(survived)
        for receipt in survived[-20:]:
            if receipt["status"] == "0x1":
                pair.arrived(receipt["transactionHash"])

    # The node

    @contextlib.contextmanager
    def node(self) -> Iterator[RunningNode]:
        """Start the node."""
        self.l1.check()
        self._info.unlink(missing_ok=True)
        arguments = (
            *("--data-dir", str(self._path / "data"), "--config-out", str(self._info)),
            *("--l1-url", self.proxy.url, "--operator-key", str(OPERATOR.secret)),
            *("--l1-confirmations", str(self._confirmations), "--deploy-l1", *DEVELOPMENT_FLAGS),
            *("--settle-interval", "0.05", "--log-level", "warning"),
        )
        with starting_node(*arguments) as node:
            yield node

    def ready(self, node: RunningNode) -> RunningNode:
        """Return the node once it is ready."""
        return node.ready(self._info)

    def connect(self) -> Pair:
        """Connect users to the node, and past the proxy to its L1."""
        pair = Pair.connect(self._info, self.anvil.url)
        pair.gas_on_l1 = GAS_ON_L1
        return pair

    def _keep_log(self, node: RunningNode, moment: str) -> None:
        printed = node.printed()
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"--- {moment}\n{printed}")
        assert "Traceback" not in printed, printed[-5_000:]

    # The result

    def missing(self) -> list[str]:
        """Return what has hit nothing yet: moments of kills, kinds of lies, events of L1."""
        told, hits = self.proxy.kinds(), self.l1.hits
        found = [window for window in WINDOWS if not self.kills[window]]
        found += [failure.kind for failure in (*LIES, *FAILURES) if not told[failure.kind]]
        found += [
            f"{outage}: requests" for outage in OUTAGES if not hits[f"requests while {outage}"]
        ]
        for kind in self.l1.reorgs:
            found += [f"{kind}: deposits"] if not hits[f"deposit {kind}"] else []
        if not any(hits[f"settlement {kind}"] for kind in self.l1.reorgs):
            found.append("settlement transactions in a reorg")
        return found

    def report(self) -> str:
        """Return what was done, line by line."""
        users = {
            "acknowledged on L2": len(self.traffic.receipts),
            "withdrawals": len(self.traffic.withdrawn),
            "deposits sent": len(self.traffic.deposits),
        }
        parts: dict[str, Mapping[str, int]] = {
            f"{sum(self.kills.values())} kills": self.kills,
            f"lies, of {sum(self.proxy.requests.values())} requests": self.proxy.kinds(),
            f"events of L1, of {self.l1.blocks} blocks": self.l1.events,
            "hit by them": self.l1.hits,
            "users": users | dict(self.traffic.counts),
        }
        lines = [f"{name}: {dict(sorted(counted.items()))}" for name, counted in parts.items()]
        return "\n".join([*lines, f"never hit: {self.missing()}"])


@contextlib.contextmanager
def running(path: Path, seed: int, confirmations: int) -> Iterator[Run]:
    """Start everything but the node, and stop it at the end."""
    with free_port() as port:
        anvil = RestartableAnvil(path, port, "--no-mining")
        anvil.start()
        try:
            with lying_l1(anvil.url, seed) as proxy:
                run = Run(path, anvil, proxy, seed, confirmations)
                try:
                    yield run
                finally:
                    run.stop()
        finally:
            anvil.stop()


def attack(run: Run, kills: int, seed: int) -> None:
    """Kill a node so many times, and a few more if something has hit nothing so far; check it in the end."""
    randomness, moments = random.Random(seed), list[str]()
    run.begin()
    while sum(run.kills.values()) < kills or (
        run.missing() and sum(run.kills.values()) < kills + MAX_LATER_KILLS
    ):
        moments = moments or randomness.sample(list(WINDOWS), len(WINDOWS))
        run.kill(moments.pop())
    run.finish()


def problems(node: RunningNode) -> list[str | None]:
    """Return what keeps the workers of a node from their work."""
    health = json.loads(get(f"{node.url}/health"))
    return [health[part] for part in ("deposits", "batches", "settlement")]
