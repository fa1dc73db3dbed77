"""Developer methods over HTTP beside anvil's: snapshots, and many blocks at once."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from benchmarks.harness import Peer, Row, Target
from tests.support.anvil import running_anvil
from tests.support.node_process import running_node
from tests.support.rpc_client import HttpRpcClient

FEW, MANY = 10, 10_000
ROUNDS: Final = 100
ROUNDS_SECONDS: Final = 10.0
"""After which no further round begins."""
ACCOUNTS: Final = 10_000
BATCH: Final = 100
PATIENCE_SECONDS: Final = 900.0
"""Anvil takes minutes for many blocks."""


class Seconds(msgspec.Struct, frozen=True):
    """How long a node takes for a snapshot, for the blocks after it and to revert them."""

    snapshot: float
    mine: float
    revert: float


def rows() -> Iterable[Row]:
    """Measure snapshots on a new chain and on one with accounts, and then many blocks."""
    # Otherwise it writes states to disk from the 500th block on, and takes ten times as long.
    with running_node("--no-l1") as node, running_anvil("--prune-history") as anvil:
        clients = _client(node.url), _client(anvil.url)
        what = f"evm_snapshot + evm_revert after {FEW} blocks"
        yield _snapshot_row(f"{what}, new chain", *_measured(*clients, FEW))
        ours, theirs = _measured(*clients, MANY)
        yield _snapshot_row(f"evm_snapshot + evm_revert after {MANY:,} blocks", ours, theirs)
        yield _row(f"anvil_mine({MANY:,})", ours.mine, theirs.mine)
        for client in clients:
            _fund(client)
        yield _snapshot_row(f"{what}, {ACCOUNTS:,} accounts", *_measured(*clients, FEW))


def _client(url: str) -> HttpRpcClient:
    return HttpRpcClient(url, PATIENCE_SECONDS)


def _measured(ours: HttpRpcClient, theirs: HttpRpcClient, blocks: int) -> tuple[Seconds, Seconds]:
    """Return the best times of each node."""
    return _best(ours, blocks), _best(theirs, blocks)


def _best(client: HttpRpcClient, blocks: int) -> Seconds:
    rounds: list[Seconds] = []
    end = time.perf_counter() + ROUNDS_SECONDS
    while not rounds or (len(rounds) < ROUNDS and time.perf_counter() < end):
        rounds.append(_round(client, blocks))
    return Seconds(
        *(min(seconds) for seconds in zip(*map(msgspec.structs.astuple, rounds), strict=True))
    )


def _round(client: HttpRpcClient, blocks: int) -> Seconds:
    # A connection that was idle while the other node was measured may be closed by now.
    client.close()
    before = int(client("eth_blockNumber"), 16)
    snapshot, snapshot_id = _timed(client, "evm_snapshot")
    mine, _ = _timed(client, "anvil_mine", hex(blocks))
    assert int(client("eth_blockNumber"), 16) == before + blocks
    revert, is_reverted = _timed(client, "evm_revert", snapshot_id)
    assert is_reverted
    assert int(client("eth_blockNumber"), 16) == before
    return Seconds(snapshot, mine, revert)


def _timed(client: HttpRpcClient, method: str, *params: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = client(method, *params)
    return time.perf_counter() - start, result


def _fund(client: HttpRpcClient) -> None:
    """Give the state many accounts, in one block."""
    client.close()
    for first in range(0, ACCOUNTS, BATCH):
        numbers = range(first, first + BATCH)
        client.batch([("anvil_setBalance", (f"0x77{number:038x}", "0x1")) for number in numbers])
    client("evm_mine")


def _snapshot_row(what: str, ours: Seconds, theirs: Seconds) -> Row:
    both = [
        f"{seconds.snapshot * 1_000:.2f} + {seconds.revert * 1_000:.2f}"
        for seconds in (ours, theirs)
    ]
    note = f"{both[0]}, anvil {both[1]}"
    return _row(what, ours.snapshot + ours.revert, theirs.snapshot + theirs.revert, note)


def _row(what: str, ours: float, theirs: float, note: str = "") -> Row:
    return Row(
        what=what,
        value=ours * 1_000,
        unit="ms",
        peer=Peer("anvil", theirs * 1_000),
        target=Target(theirs * 1_000, "at most"),
        note=note,
    )
