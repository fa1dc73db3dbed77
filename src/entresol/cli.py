"""The command line."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import uvloop

from entresol.chain.rebuild import rebuild
from entresol.errors import EntresolError, InvalidConfig
from entresol.node.assembly import open_chain
from entresol.node.banner import banner
from entresol.node.config import SETTINGS, NodeConfig
from entresol.node.node import Node
from entresol.rpc.server import allow_open_files
from entresol.storage.store import Store

SWITCH_SECONDS: Final = 1e-3
"""How soon a thread that asks for the interpreter gets it: calls on threads ask often."""

FAILED: Final = 1
MISUSED: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    try:
        config = SETTINGS.load(given, os.environ, given["config"])
        return _COMMANDS[given["command"]](config)
    except InvalidConfig as error:
        print(f"error: {error}", file=sys.stderr)
        return MISUSED
    except EntresolError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED


def _run(config: NodeConfig) -> int:
    sys.setswitchinterval(SWITCH_SECONDS)
    allow_open_files(config.server.connection_limit)
    uvloop.run(_serve(config))
    return 0


async def _serve(config: NodeConfig) -> None:
    node = Node(config)
    await node.start()
    # What exists now stays: the collector need not look at it again and again.
    gc.collect()
    gc.freeze()
    if not config.log.silent:
        print(banner(node, config), flush=True)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    await stopped.wait()
    await node.stop()


def _rebuild(config: NodeConfig) -> int:
    store = Store.open(_directory(config))
    try:
        rebuild(store, _progress("rebuilt"))
    finally:
        store.close()
    return 0


def _verify(config: NodeConfig) -> int:
    _directory(config)
    chain = open_chain(config.chain)
    try:
        chain.ledger.verify(_progress("verified"))
        print(f"block {chain.number} {chain.head.hash()} is what its transactions lead to")
    finally:
        chain.close()
    return 0


_COMMANDS: Final = {"run": _run, "rebuild": _rebuild, "verify": _verify}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="entresol",
        description="A layer-2 node of the ZK Stack family, for development.",
        epilog="Each flag is also a variable (--chain-id is ENTRESOL_CHAIN_ID) and a key in a file.",
    )
    parser.add_argument(
        "command",
        nargs="?",
        choices=_COMMANDS,
        default="run",
        help="run a node [default]; rebuild the indexes of a data directory, or verify its blocks",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with settings")
    SETTINGS.add_flags(parser)
    return parser


def _directory(config: NodeConfig) -> Path:
    if config.chain.data_dir is None:
        raise InvalidConfig("--data-dir", "say which directory")
    path = Path(config.chain.data_dir)
    if not path.exists():
        raise InvalidConfig("--data-dir", f"there is no {path}")
    return path


def _progress(verb: str) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if done == total or done % 1_000 == 0:
            print(f"{verb} {done:,} of {total:,} blocks", file=sys.stderr)

    return tell
