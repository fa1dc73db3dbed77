"""A node killed at any moment of deposits, batching and settlement: nothing is lost, and nothing is done twice."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rollup.node_crashes import (
    CrashingNode,
    Traffic,
    kill_again_and_again,
    operator_nonce,
)
from tests.support.rollup.pair import Pair

# ENTRESOL_SETTLEMENT_KILLS=50 for the long run.
KILLS = int(os.environ.get("ENTRESOL_SETTLEMENT_KILLS", "6"))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("delay", ["0", "0.02"])
def test_deposits_survive_kills(tmp_path: Path, delay: str) -> None:
    randomness = random.Random(7)
    node, traffic = CrashingNode(tmp_path, "--l1-delay", delay), Traffic(8)
    nonces: list[int] = []
    node.live(lambda pair: nonces.append(operator_nonce(pair)))
    lives = [randomness.expovariate(1 / 0.3) for _ in range(max(KILLS // 2, 2))]
    kill_again_and_again(node, traffic.only_deposit, lives, lambda: traffic.deposits)

    def finish(pair: Pair) -> None:
        traffic.check(pair)
        pair.settled()

    node.live(finish)
    check_agreement(node.data, nonce=nonces[0])


def test_settlement_survives_kills(tmp_path: Path) -> None:
    randomness = random.Random(9)
    node = CrashingNode(tmp_path, "--l1-delay", "0.02", "--settle-interval", "0.02")
    traffic, nonces = Traffic(10), []

    def begin(pair: Pair) -> None:
        nonces.append(operator_nonce(pair))
        traffic.token = pair.create_token()
        # So that what is withdrawn can be paid.
        traffic.deposits.append(pair.deposit(10**9).removeprefix("0x"))
        pair.arrived("0x" + traffic.deposits[0])

    node.live(begin)
    lives = [randomness.expovariate(1 / 0.4) for _ in range(KILLS)]
    kill_again_and_again(node, traffic.go_on, lives, lambda: traffic.sent and traffic.proofs)

    def finish(pair: Pair) -> None:
        pair.settled()
        traffic.check(pair)
        for transaction in traffic.sent:
            assert pair.proven(transaction)

    node.live(finish)
    assert traffic.token is not None
    check_agreement(node.data, [traffic.token], nonce=nonces[0])
