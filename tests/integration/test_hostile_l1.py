"""Kills beside an L1 that reorgs, goes away and lies: nothing is lost, nothing is sent twice, the supply is exact."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.l1_kills import CONFIRMATIONS, Run, attack, problems, running
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS

KILLS = int(os.environ.get("ENTRESOL_L1_KILLS", "10"))
SEED = int(os.environ.get("ENTRESOL_SEED", "11"))

pytestmark = [pytest.mark.slow, pytest.mark.peer]


@contextlib.contextmanager
def repeatable(path: Path, confirmations: int) -> Iterator[Run]:
    """Start an attack, and say with a failure what was done and how to repeat it."""
    with running(path, SEED, confirmations) as run:
        try:
            yield run
        except BaseException as failure:
            failure.add_note(f"{run.report()}\nENTRESOL_L1_KILLS={KILLS} ENTRESOL_SEED={SEED}")
            raise


def test_kills_beside_a_hostile_l1_lose_double_and_invent_nothing(tmp_path: Path) -> None:
    with repeatable(tmp_path, CONFIRMATIONS) as run:
        attack(run, KILLS, SEED)
        # Otherwise this proves nothing.
        assert run.missing() == []


def test_a_reorg_of_an_executed_deposit_is_reported_also_after_a_kill(tmp_path: Path) -> None:
    with repeatable(tmp_path, 0) as run:
        run.begin()
        run.quieten()
        with run.node() as starting:
            node, pair = run.ready(starting), run.connect()
            run.wait_for_deposits(pair)
            eventually(lambda: not any(problems(node)), node.printed)
            # Nobody else mines, so that the reorg removes this block and no other.
            run.l1.stop()
            pair.l1("anvil_mine", "0x5")
            lost = pair.deposit(111)
            pair.l1("evm_mine")
            executed = pair.arrived(lost)["transactionHash"]
            pair.l1("anvil_reorg", 1, [])
            other = pair.deposit(222, sender=ACCOUNTS[5].address)
            pair.l1("evm_mine")
            (replaced,) = pair.priority_hashes(other)
            eventually(lambda: "a reorg" in (problems(node)[0] or ""), node.printed)
            pair.close()
        with run.node() as starting:
            node, pair = run.ready(starting), run.connect()
            eventually(lambda: "a reorg" in (problems(node)[0] or ""), node.printed)
            assert pair.l2("eth_getTransactionReceipt", replaced) is None
            # L1 rejects a batch with the deposit that it does not have.
            eventually(lambda: pair.l1("evm_mine") and "execute of" in (problems(node)[2] or ""))
            # What was acknowledged stays, and users of the L2 are served.
            assert pair.l2("eth_getTransactionReceipt", executed)["status"] == "0x1"
            assert pair.l2.receipt(pair.send_message(b"still here"))["status"] == "0x1"
            pair.close()
