"""A node of any recipe one of whose parts fails: to start, or while it runs."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from entresol import background_task
from entresol.features.cluster.pending_feed import PendingFollower
from entresol.features.cluster.postgres.member import Reporter
from entresol.features.dev.state_dumper import StateDumper
from entresol.features.workers import supervisor
from entresol.features.workers.settings import WorkersConfig
from entresol.node.build_node import build_node
from entresol.node.chain_service import ChainService
from entresol.node.config.schema import L1Config, NodeConfig
from entresol.node.node import Node
from entresol.rollup.batcher import Batcher
from entresol.rollup.deposits.deposit_watcher import DepositWatcher
from entresol.rollup.l1_clock import L1Clock
from entresol.rollup.settlement.operator_balance import OperatorBalance
from entresol.rollup.settlement.settler import Settler
from entresol.rollup.step_loop import StepLoop
from entresol.sequencer.local import LocalSequencer
from entresol.server.config import ServerConfig
from tests.support.polling import eventually_on_loop
from tests.support.rollup.recipes import made

PARTS = {"ecosystem": 9, "remote": 6, "layer_one": 4, "member": 7, "worker": 5}


class PartError(Exception):
    """A part did not start, or does not run."""


def opened() -> set[str]:
    """Return the files and sockets that this process has open, without those of its event loops."""
    gc.collect()
    found = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = str(link.readlink())
        except FileNotFoundError:
            continue
        if not target.startswith(("anon_inode:", "pipe:")) and not is_device(Path(target)):
            found.add(target)
    return found


def is_device(path: Path) -> bool:
    return path.parent in {Path("/dev"), Path("/dev/pts")}


@pytest.mark.parametrize(
    ("recipe", "index"), [(name, n) for name, count in PARTS.items() for n in range(count)]
)
def test_a_node_whose_part_fails_to_start_leaves_nothing_open(
    recipe: str, index: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with made(recipe, tmp_path) as node:
            assert len(node.parts) == PARTS[recipe]
            part = node.parts[index]

            async def fail() -> None:
                await start()
                raise PartError

            # It has begun to do what it has to undo.
            start = part.start
            monkeypatch.setattr(part, "start", fail)
            with pytest.raises(PartError):
                await node.start()
            if recipe != "worker":
                others = asyncio.all_tasks() - {asyncio.current_task()}
                assert {task for task in others if not task.done()} == set()

    before, threads = opened(), set(threading.enumerate())
    asyncio.run(play())
    assert opened() <= before
    assert [
        thread.name
        for thread in set(threading.enumerate()) - threads
        if thread.name.startswith("node")
    ] == []


TASKS: list[tuple[str, type, str, str]] = [
    ("ecosystem", LocalSequencer, "_tick", "the timer of blocks"),
    ("ecosystem", StateDumper, "_run", "the dump of states"),
    # The worker that runs first is that of the gas price.
    ("ecosystem", StepLoop, "run", "gas price of L1"),
    ("ecosystem", DepositWatcher, "run", "deposits"),
    ("ecosystem", Batcher, "run", "batches"),
    ("ecosystem", Settler, "run", "settlement"),
    ("ecosystem", OperatorBalance, "run", "balance of the operator"),
    ("remote", L1Clock, "run", "clock of L1"),
    ("layer_one", LocalSequencer, "_tick", "the timer of blocks"),
    ("layer_one", StateDumper, "_run", "the dump of states"),
    ("member", Reporter, "_run", "the report to the cluster"),
    ("member", PendingFollower, "_run", "the feed of pending transactions"),
]


def status(service: ChainService) -> tuple[str, str]:
    """Return the status of a node and the reason, by `/health`."""
    _, _, body = service.health_page()
    page = json.loads(body)
    return page["status"], page.get("reason", "")


@pytest.mark.parametrize(
    ("recipe", "owner", "name", "task"), TASKS, ids=lambda it: getattr(it, "__name__", it)
)
def test_a_task_that_fails_once_degrades_the_node_until_it_runs_again(
    recipe: str,
    owner: type,
    name: str,
    task: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_task, "RESTART_SECONDS", 0.0)
    monkeypatch.setattr(background_task, "STEADY_SECONDS", 0.5)
    run: Callable[..., Coroutine[Any, Any, None]] = getattr(owner, name)
    failures = [PartError("once")]

    async def fail_once(*arguments: object) -> None:
        if failures:
            raise failures.pop()
        await run(*arguments)

    monkeypatch.setattr(owner, name, fail_once)

    async def play() -> None:
        async with made(recipe, tmp_path) as node:
            await node.start()
            try:
                problem = f"{task} failed: PartError; the log has more"
                await eventually_on_loop(lambda: problem in status(node.layer_two)[1])
                assert status(node.layer_two)[0] == "degraded"
                await eventually_on_loop(lambda: is_over(node))
            finally:
                await node.stop()

    def is_over(node: Node) -> bool:
        now, reason = status(node.layer_two)
        # The database of the cluster is never there, nor is a remote L1.
        return "PartError" not in reason if recipe in {"member", "remote"} else now == "ready"

    asyncio.run(play())


class FailingProcess:
    """A worker that cannot be run."""

    is_running = is_alive = False
    started_at = 0.0

    def __init__(self, *_: object) -> None:
        self.index = 0

    async def run(self) -> None:
        """Fail."""
        raise PartError

    def stop(self) -> None:
        """Do nothing."""


def test_a_node_whose_workers_do_not_run_is_degraded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "WorkerProcess", FailingProcess)
    monkeypatch.setattr(supervisor, "START_SECONDS", 0.01)
    config = NodeConfig(l1=L1Config(l1=False), server=ServerConfig(port=0)).with_(
        WorkersConfig, workers=2
    )

    async def play() -> tuple[str, str]:
        node = build_node(config)
        await node.start()
        try:
            return status(node.layer_two)
        finally:
            await node.stop()

    assert asyncio.run(play()) == ("degraded", "0 of 1 workers serve requests")
