"""An L1 that lies about everything: `python -m tests.robustness.l1 --seconds 3600 --seed 1`.

A node settles on a real anvil through a proxy. By turns the proxy tells the truth, one lie about one field again and
again, and any lies about any field of any method. Users deposit, transfer, withdraw and claim meanwhile. In the end L1
is honest, and within a minute every batch must be settled, with nothing signed for another chain and an exact supply.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from entresol.node.config.schema import L1Config
from entresol.primitives.transactions import FeeMarketTransaction, decode
from tests.robustness.bridge_traffic import BridgeTraffic
from tests.robustness.lies import FAILURES, LIES, SEND, Answer, Lie, Request
from tests.robustness.lying_l1 import LyingL1, Mood, by_chance, lying_l1
from tests.robustness.wrong_values import any_wrong, paths, value_at, with_value, wrong_values
from tests.support.anvil import RestartableAnvil, free_port
from tests.support.node_process import DEVELOPMENT_FLAGS, RunningNode, starting_node
from tests.support.polling import POLL_SECONDS
from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.pair import ETHER, L1_CHAIN_ID, Pair
from tests.support.rpc_client import get

OPERATOR: Final = ACCOUNTS[1]
GAS_ON_L1: Final = 1_000_000
MINUTE: Final = 60.0
HEALTH_SECONDS: Final = 20.0
"""Far longer than a response takes on a busy machine; a loop that counts down from 2^40 takes days."""

METHODS: Final = (
    "eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getLogs", "eth_call", "eth_estimateGas",
    "eth_getTransactionReceipt", "eth_getTransactionCount", "eth_getBalance", "eth_maxPriorityFeePerGas", SEND,
)  # fmt: skip

REJECTIONS: Final = (
    (3, "execution reverted"),
    (-32000, "execution reverted: TimeNotReached"),
    (-32003, "intrinsic gas too low"),
    (-32000, "nonce too low"),
    (-32000, "replacement transaction underpriced"),
    (-32000, "insufficient funds for gas * price + value"),
    (-32000, "invalid chain id for signer"),
    (-32000, "exceeds block gas limit"),
    (-32602, "invalid params"),
)
ENVELOPES: Final[tuple[Any, ...]] = (
    {"jsonrpc": "2.0", "id": 1},
    {"error": None},
    {"error": "no"},
    {"error": {"code": "3", "message": 7}},
    {"error": {"code": 2**64, "message": ["execution reverted"]}},
    {"result": "0x1", "error": {}},
    [],
    7,
)


def wrong_value(request: Request, choice: random.Random) -> Answer | None:
    """Respond with any wrong value in any field."""
    if "result" not in request.truth():
        return None
    return request.with_result(any_wrong(request.result(), choice).result)


def rejection(request: Request, choice: random.Random) -> Answer | None:
    """Reject the request with an error that means something."""
    return request.with_error(*choice.choice(REJECTIONS))


def wrong_envelope(request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG001  # as all lies
    """Respond with what is hardly JSON-RPC."""
    return Answer(json.dumps(choice.choice(ENVELOPES)).encode())


WRONG: Final = (
    *(Lie("wrong value", wrong_value), Lie("rejection", rejection)),
    Lie("wrong envelope", wrong_envelope),
)


class OneLie:
    """Lies about one field of one method, and always the same."""

    def __init__(self, choice: random.Random) -> None:
        self._method = choice.choice(METHODS)
        self._seed = choice.getrandbits(32)
        self._lie: tuple[tuple[str | int, ...], Any] | None = None
        self._lies = (Lie("one value", self._tell),)

    def __call__(self, request: Request, choice: random.Random) -> Sequence[Lie]:  # noqa: ARG002  # as all moods
        """Return the lie if it fits the request."""
        return self._lies if request.method == self._method else ()

    def _tell(self, request: Request, choice: random.Random) -> Answer | None:  # noqa: ARG002  # as all lies
        truth = request.result()
        if truth is None:
            return None
        if self._lie is None:
            drawn = random.Random(self._seed)
            path = drawn.choice(list(paths(truth)))
            self._lie = path, drawn.choice(list(wrong_values(value_at(truth, path))))
        path, value = self._lie
        return request.with_result(with_value(truth, path, value)) if path in paths(truth) else None


class OneRejection:
    """Rejects all requests of one method with the same error."""

    def __init__(self, choice: random.Random) -> None:
        self._method = choice.choice(METHODS)
        error = choice.choice(REJECTIONS)
        self._lies = (Lie("one rejection", lambda request, _: request.with_error(*error)),)

    def __call__(self, request: Request, choice: random.Random) -> Sequence[Lie]:  # noqa: ARG002  # as all moods
        """Return the lie if it fits the request."""
        return self._lies if request.method == self._method else ()


def any_lies(share: float) -> Mood:
    """Lie about a share of all requests."""

    def lies(request: Request, choice: random.Random) -> Sequence[Lie]:  # noqa: ARG001  # as all moods
        if choice.random() >= share:
            return ()
        return choice.choice((WRONG, WRONG, WRONG, LIES, FAILURES))

    return lies


def truth(request: Request, choice: random.Random) -> Sequence[Lie]:  # noqa: ARG001  # as all moods
    """Lie about nothing."""
    return ()


MOODS: Final[dict[str, tuple[Callable[[random.Random], Mood], float]]] = {
    "one lie": (OneLie, 3.0),
    "one rejection": (OneRejection, 3.0),
    "some lies": (lambda choice: any_lies(choice.uniform(0.02, 0.3)), 4.0),
    "many lies": (lambda _: any_lies(0.8), 2.0),
    "a lagging node": (lambda _: by_chance, 3.0),
    "truth": (lambda _: truth, 3.0),
}
"""With the longest time that each lasts."""


class Run:
    """One attack: a node, its users, and its L1."""

    def __init__(self, path: Path, anvil: RestartableAnvil, proxy: LyingL1, seed: int) -> None:
        self.moods: Counter[str] = Counter()
        self.slowest_health = 0.0
        self.settled_after = 0.0
        self.proxy = proxy
        self.problems: Counter[str] = Counter()
        self._path = path
        self._anvil = anvil
        self._random = random.Random(seed)
        self._traffic = BridgeTraffic(seed + 1, l1_seconds=1.5, l2_seconds=0.4)
        self._info = path / "info.json"

    def attack(self, seconds: float) -> None:
        """Lie for so long, and check everything in the end."""
        with self._node() as starting:
            node = starting.ready(self._info)
            pair = self._connect()
            token = pair.create_token()
            pair.arrived(pair.deposit(ETHER))
            pair.close()
            ended, used = threading.Event(), self._connect()
            users = [
                threading.Thread(target=self._traffic.use_l1, args=(self._connect(), token)),
                threading.Thread(target=self._traffic.use_l2, args=(used, ended)),
            ]
            for user in users:
                user.start()
            try:
                self._lie(node, time.monotonic() + seconds)
            finally:
                self.proxy.lies = False
                self._traffic.stopped.set()
                ended.set()
                for user in users:
                    user.join()
                used.close()
            # The node has closed what was not used for so long.
            pair = self._connect()
            self._check_settled(node, pair)
            self._traffic.check(pair)
            self._traffic.claim_rest(pair)
            self.settle_all(pair)
            pair.close()
            assert node.stop() == 0, node.printed()[-5_000:]
            self._check_log(node.printed())
        self._check_sent()
        l1 = L1Config(l1_url=self._anvil.url, operator_key=str(OPERATOR.secret))
        check_agreement(self._path / "data", [token], l1=l1)

    def _lie(self, node: RunningNode, until: float) -> None:
        while (now := time.monotonic()) < until:
            mood = self._random.choice(list(MOODS))
            make, longest = MOODS[mood]
            self.proxy.mood, self.proxy.lies = make(self._random), True
            self.moods[mood] += 1
            time.sleep(min(self._random.uniform(0.2, longest), until - now))
            self._check_health(node)

    def _check_health(self, node: RunningNode) -> None:
        assert node.process.poll() is None, node.printed()[-5_000:]
        started = time.monotonic()
        health = json.loads(get(f"{node.url}/health"))
        self.slowest_health = max(self.slowest_health, time.monotonic() - started)
        assert self.slowest_health < HEALTH_SECONDS
        for part in ("deposits", "batches", "settlement", "gasPrice"):
            self.problems[part] += health[part] is not None

    def _check_settled(self, node: RunningNode, pair: Pair) -> None:
        """Check that everything is settled within a minute."""
        started = time.monotonic()
        while pair.number_of("finalized") != pair.number_of("latest") or self._arriving(pair):
            self.settled_after = time.monotonic() - started
            assert self.settled_after < MINUTE, (get(f"{node.url}/health"), node.printed()[-5_000:])
            time.sleep(POLL_SECONDS)

    def _arriving(self, pair: Pair) -> bool:
        """Return whether the last deposit is not on L2 yet."""
        if not self._traffic.deposits:
            return False
        receipt = pair.l1("eth_getTransactionReceipt", self._traffic.deposits[-1])
        if receipt is None or receipt["status"] != "0x1":
            return receipt is None
        (requested,) = pair.priority_hashes(self._traffic.deposits[-1])
        return pair.l2("eth_getTransactionReceipt", requested) is None

    def settle_all(self, pair: Pair) -> None:
        """Wait until what came after the minute is settled, too."""
        pair.settled()

    def _check_log(self, printed: str) -> None:
        assert "Traceback" not in printed, printed[printed.index("Traceback") - 500 :][:5_000]

    def _check_sent(self) -> None:
        """Check that nothing was signed for another chain."""
        for raw in self.proxy.sent:
            payload = decode(bytes.fromhex(raw[2:])).payload
            assert isinstance(payload, FeeMarketTransaction)
            assert payload.chain_id == L1_CHAIN_ID

    @contextlib.contextmanager
    def _node(self) -> Iterator[RunningNode]:
        arguments = (
            *("--data-dir", str(self._path / "data"), "--config-out", str(self._info)),
            *("--l1-url", self.proxy.url, "--operator-key", str(OPERATOR.secret)),
            *("--l1-confirmations", "1", "--deploy-l1", *DEVELOPMENT_FLAGS),
            *("--settle-interval", "0.2", "--log-level", "warning"),
        )
        with starting_node(*arguments) as node:
            try:
                yield node
            finally:
                (self._path / "node.log").write_text(node.printed(), encoding="utf-8")

    def _connect(self) -> Pair:
        """Connect users to the node, and past the proxy to its L1."""
        pair = Pair.connect(self._info, self._anvil.url)
        pair.gas_on_l1 = GAS_ON_L1
        return pair

    def report(self) -> str:
        """Return what was done, line by line."""
        traffic = self._traffic
        users = {
            "acknowledged on L2": len(traffic.receipts),
            "withdrawals": len(traffic.withdrawn),
            "deposits sent": len(traffic.deposits),
        } | dict(traffic.counts)
        requests = sum(self.proxy.requests.values())
        return "\n".join(
            (
                f"moods: {dict(self.moods)}",
                f"lies, of {requests} requests: {dict(sorted(self.proxy.kinds().items()))}",
                f"users: {users}",
                f"/health said a problem, of {sum(self.moods.values())} times: {dict(self.problems)}",
                f"slowest /health {self.slowest_health:.2f} s; {len(self.proxy.sent)} transactions sent",
                f"all settled {self.settled_after:.1f} s after the last lie",
            )
        )


@contextlib.contextmanager
def running(path: Path, seed: int, block_seconds: float = 1.0) -> Iterator[Run]:
    """Start everything but the node, and stop it at the end."""
    with free_port() as port:
        anvil = RestartableAnvil(path, port, "--block-time", str(block_seconds))
        anvil.start()
        try:
            with lying_l1(anvil.url, seed) as proxy:
                yield Run(path, anvil, proxy, seed)
        finally:
            anvil.stop()


def main() -> int:
    """Run the attack, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--path", type=Path, help="where the chain and the log of the node stay")
    options = parser.parse_args()
    with contextlib.ExitStack() as cleanup:
        path = options.path or Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        run = cleanup.enter_context(running(path, options.seed))
        try:
            run.attack(options.seconds)
        finally:
            print(run.report(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
