"""Faults of L1, and unwinding the chain, which settlement limits."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from tests.robustness.cluster.targets import Fault, Repair, Targets
from tests.support.cluster.nodes import ClusterProcesses
from tests.support.node_process import run_entresol
from tests.support.polling import eventually
from tests.support.rpc_client import HttpRpcClient

MOST_LAG = 20
MOST_UNWOUND = 20
MOST_ATTEMPTS = 3
_UNDER_WAY = """
select kind = 'outgoing' from entresol.log where kind in ('outgoing', 'settled') order by seq desc limit 1
"""
_FORBIDDEN = re.compile(r"batch \d+ ends at block (\d+)")


def away(targets: Targets) -> Repair:
    """Kill the producer while no node reaches L1."""
    for node in targets.nodes:
        node.l1.is_away = True
    targets.producer().node.kill()

    def repair() -> None:
        for node in targets.nodes:
            node.l1.is_away = False

    return repair


def lagging(targets: Targets) -> Repair:
    """Kill the producer; the L1 of all others is some blocks behind what it had seen."""
    producer = targets.producer()
    for node in targets.nodes:
        if node is not producer:
            node.l1.lag = targets.randomness.randint(1, MOST_LAG)
    producer.node.kill()

    def repair() -> None:
        for node in targets.nodes:
            node.l1.lag = 0

    return repair


def kill_while_settling(targets: Targets) -> Repair:
    """Kill the producer while L1 has a settlement transaction, and does not include it."""
    with stalled(targets) as repair:
        targets.producer().node.kill()
        return repair


def unwind_while_settling(targets: Targets) -> Repair:
    """Unwind while a settlement transaction is under way: never below its batch."""
    with stalled(targets) as repair:
        unwind(targets)
        return repair


def unwind(targets: Targets) -> None:
    """Unwind some blocks, or as many as are in no batch that is committed or under way."""
    targets.producer()
    wanted = targets.randomness.randint(1, MOST_UNWOUND)
    number: int | None = max(0, head(targets.cluster) - wanted)
    # L1 commits more meanwhile, so each attempt may be forbidden by another batch.
    for _ in range(MOST_ATTEMPTS):
        if number is not None:
            number = unwind_to(targets, number)


def unwind_to(targets: Targets, number: int) -> int | None:
    """Unwind to a block; if a batch forbids it, return the end of the batch once there is a block above it."""
    cluster = targets.cluster
    with targets.history.unwinding(number):
        done = run_entresol("cluster", "unwind", "--to", str(number), "--cluster", cluster.url)
    if done.returncode == 0:
        return None
    found = _FORBIDDEN.search(done.stderr)
    assert found is not None, done.stderr
    end = int(found[1])
    eventually(lambda: head(cluster) > end)
    return end


def head(cluster: ClusterProcesses) -> int:
    """Return the last block in the log."""
    return int(cluster.fetch_value("select head from entresol.lease"))


@contextlib.contextmanager
def stalled(targets: Targets) -> Iterator[Repair]:
    """Let L1 include nothing, and wait until a settlement transaction is pending there."""
    client = HttpRpcClient(targets.cluster.l1_url)

    def repair() -> None:
        client("evm_setAutomine", True)
        client("evm_mine")
        client.close()

    targets.producer()
    client("evm_setAutomine", False)
    try:
        eventually(lambda: targets.cluster.fetch_value(_UNDER_WAY))
        yield repair
    except BaseException:
        repair()
        raise


L1_FAULTS: dict[str, Fault] = {
    "kill the producer while L1 is away": away,
    "kill the producer while L1 lags": lagging,
    "kill the producer while it settles": kill_while_settling,
    "unwind under load": unwind,
    "unwind while it settles": unwind_while_settling,
}
