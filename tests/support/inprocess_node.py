"""Nodes and commands of the command line in this process: all that they do but starting an interpreter."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from unittest import mock
from urllib.parse import urlsplit

from entresol.cli import main
from entresol.inprocess.loop_thread import LoopThread
from entresol.node.startup.banner import READY, banner, ready_line
from entresol.terminal.log import LEVELS, NodeLog
from entresol.terminal.writer import TerminalWriter
from tests.support.anvil import Anvil
from tests.support.polling import eventually

if TYPE_CHECKING:
    from entresol.cli.run_node import OpenNode
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node

_LOGGER: Final = logging.getLogger("entresol")
_CLI: Final = importlib.import_module("entresol.cli.main")
"""The module: its package has a function of the same name."""


class InprocessNode:
    """A node on a thread of its own, with what a started process has."""

    def __init__(self, node: Node, loop: LoopThread, log: BinaryIO) -> None:
        self.node = node
        self.url = node.info().http_url
        self._loop = loop
        self._log = log
        self.output = self.printed()

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def printed(self) -> str:
        return os.pread(self._log.fileno(), 1 << 24, 0).decode()

    def stop(self) -> int:
        self._loop.run(self.node.stop())
        return 0


@contextlib.contextmanager
def inprocess_node(
    *arguments: str, info: Path | None = None, output: Path | None = None
) -> Iterator[InprocessNode]:
    """Start a node of these flags on free ports, and stop it at the end.

    `info` is what `--config-out` names, which is written by then. What is printed goes to the file `output`, if one is
    given.
    """
    l1_port = () if arguments[:1] == ("anvil",) else ("--l1-port", "0")
    config, open_node = _parsed(*arguments, "--port", "0", *l1_port)
    assert info is None or config.log.config_out == str(info)
    loop = LoopThread("a node of a test")
    with contextlib.ExitStack() as stack:
        printed = stack.enter_context(
            tempfile.TemporaryFile() if output is None else output.open("w+b")  # noqa: SIM115
        )
        log = NodeLog(config.log, TerminalWriter(printed.fileno(), printed.fileno()))
        stack.callback(log.close)
        stack.enter_context(_logging_to(log, LEVELS[config.log.log_level]))
        loop.start()
        stack.callback(loop.stop)
        node = loop.run(_started(config, open_node, log))
        stack.callback(lambda: loop.run(node.stop()))
        log.announce(banner(node.info()), ready_line(node.info()), node.info().to_log())
        # It is written by a thread.
        eventually(lambda: config.log.silent or READY in InprocessNode(node, loop, printed).output)
        yield InprocessNode(node, loop, printed)


@contextlib.contextmanager
def inprocess_anvil(*arguments: str, output: Path | None = None) -> Iterator[Anvil]:
    """Start `entresol anvil`, or with other flags `entresol`, and return a client as of anvil."""
    with inprocess_node(*arguments, output=output) as started:
        client = Anvil(started.url, os.getpid())
        with contextlib.closing(client):
            yield client


def run_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program until it ends by itself, and return what it printed and its exit code."""
    out, err = io.StringIO(), io.StringIO()
    root, interval = logging.getLogger(), sys.getswitchinterval()
    handlers, level = root.handlers[:], root.level
    with (
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(arguments)
        except SystemExit as ended:
            # As argparse ends a process that has shown its help.
            code = ended.code if isinstance(ended.code, int) else 0
        finally:
            # A process ends with what it has set.
            root.handlers[:], root.level = handlers, level
            sys.setswitchinterval(interval)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _logging_to(log: NodeLog, level: int) -> Iterator[None]:
    """Let a log have the messages of all modules from a level on, as that of a process has."""
    before = _LOGGER.level
    _LOGGER.addHandler(log.handler)
    _LOGGER.setLevel(level)
    try:
        yield
    finally:
        _LOGGER.setLevel(before)
        _LOGGER.removeHandler(log.handler)


def _parsed(*arguments: str) -> tuple[NodeConfig, OpenNode]:
    found: list[tuple[NodeConfig, OpenNode]] = []

    def run(config: NodeConfig, open_node: OpenNode) -> int:
        found.append((config, open_node))
        return 0

    with mock.patch.object(_CLI, "run_node", run):
        ended = run_command(*arguments)
    assert ended.returncode == 0, ended.stderr
    return found[0]


async def _started(config: NodeConfig, open_node: OpenNode, log: NodeLog) -> Node:
    node = await open_node(config, log)
    await node.start()
    if config.log.config_out is not None:
        node.info().write(Path(config.log.config_out))
    return node
