"""A process that is killed amid deposits, batches and settlement loses nothing and repeats nothing."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from entresol.primitives.transactions import PriorityTransaction
from entresol.rollup.batches import genesis_batch, stored_of
from entresol.storage.batches import Step
from tests.integration.rollup_writer import OPERATOR, Layers
from tests.settlement_contracts import SettlementContracts, deploy
from tests.settling import CHAIN_ID

KILLS = int(os.environ.get("ENTRESOL_KILLS", "15"))
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_killed_again_and_again_it_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    layers = Layers(tmp_path)
    genesis = stored_of(genesis_batch(layers.chain.ledger.record(0)), CHAIN_ID).hash()
    contracts = asyncio.run(deploy(layers.l1, CHAIN_ID, genesis, OPERATOR.address))
    layers.close()
    randomness = random.Random(7)
    for _ in range(KILLS):
        _work_and_die(tmp_path, contracts, randomness.expovariate(1 / 0.1))

    layers = Layers(tmp_path)
    contracts = layers.contracts(contracts.chain.address, contracts.timelock)
    asyncio.run(_finish(layers, contracts))
    numbers = _executed_deposits(layers)
    sent = asyncio.run(contracts.chain.total_priority_transactions())
    assert numbers == list(range(sent))
    assert sent > KILLS
    _check_settlement(layers)
    layers.close()


def _work_and_die(path: Path, contracts: SettlementContracts, seconds: float) -> None:
    module = "tests.integration.rollup_writer"
    arguments = [str(path), str(contracts.chain.address), str(contracts.timelock)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        # When it dies is what is tried here.
        time.sleep(seconds)
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


async def _finish(layers: Layers, contracts: SettlementContracts) -> None:
    rollup = layers.rollup(contracts)
    while await rollup.watcher.step():
        pass
    rollup.batcher.seal(0.0)
    # A step that sends again what was written down but never sent has nothing more to do at once.
    while rollup.status().executed < rollup.batcher.last.number:
        await rollup.settler.step(0.0)
        assert rollup.settler.stopped is None
    status = rollup.status()
    assert status.problems == {}
    assert status.sealed == status.committed == status.proven == status.executed > 0


def _executed_deposits(layers: Layers) -> list[int]:
    numbers = []
    for record in layers.chain.ledger.store.records():
        for index in range(len(record.transactions)):
            payload = record.transaction(index).payload
            if isinstance(payload, PriorityTransaction):
                numbers.append(payload.nonce)
    return numbers


def _check_settlement(layers: Layers) -> None:
    batches = layers.chain.ledger.store.batches
    last = batches.last()
    assert last is not None
    assert last.last_block == layers.chain.number
    done = [batches.settled(n, step) for n in range(1, last.number + 1) for step in Step]
    assert all(done)
    # The operator sent what settled something, and not one transaction more.
    transactions = {it.transaction for it in done if it is not None}
    assert asyncio.run(layers.l1.nonce(OPERATOR.address)) == len(transactions)
