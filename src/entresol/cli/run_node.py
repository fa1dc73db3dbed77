"""Run a node until a signal stops it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from entresol.terminal.exit_codes import SUCCEEDED

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node
    from entresol.terminal.log import NodeLog

    OpenNode: TypeAlias = Callable[[NodeConfig, NodeLog], Coroutine[Any, Any, Node]]

T = TypeVar("T")

SWITCH_SECONDS: Final = 1e-3
"""The interpreter's switch interval: threads of calls often need the GIL."""


def run_node(config: NodeConfig, open_node: OpenNode) -> int:
    """Open a node, serve until SIGINT or SIGTERM, and return the exit code."""
    import uvloop  # noqa: PLC0415

    from entresol._native import return_large_blocks  # noqa: PLC0415
    from entresol.server.limits import allow_open_files  # noqa: PLC0415
    from entresol.terminal.log import NodeLog  # noqa: PLC0415
    from entresol.terminal.writer import TerminalWriter  # noqa: PLC0415

    return_large_blocks()
    sys.setswitchinterval(SWITCH_SECONDS)
    allow_open_files(config.server.connection_limit)
    log = NodeLog.to_writer(config.log, TerminalWriter())
    try:
        uvloop.run(_serve(config, log, open_node))
    finally:
        log.close()
    return SUCCEEDED


async def _serve(config: NodeConfig, log: NodeLog, open_node: OpenNode) -> None:
    from entresol.node.startup.banner import banner, ready_line  # noqa: PLC0415
    from entresol.node.startup.process_start import collect_less  # noqa: PLC0415

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    node = await _unless(stopped, open_node(config, log))
    if node is None:
        return
    await node.start()
    try:
        collect_less()
        info = node.info()
        if config.log.config_out is not None:
            info.write(Path(config.log.config_out))
        log.announce(banner(info), ready_line(info), info.to_log())
        await stopped.wait()
    finally:
        await node.stop()


async def _unless(stopped: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of `work`, or None if the node is stopped first: L1 may be unreachable for long."""
    task, stop = asyncio.create_task(work), asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        stop.cancel()
        task.cancel()
        await asyncio.gather(stop, task, return_exceptions=True)
