"""The commands: `entresol run`, `anvil`, `rebuild`, `verify`, `backup`, `cluster`, `shell` and `completion`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar

from entresol.cli.parsers import (
    anvil_parser,
    backup_parser,
    cluster_parser,
    completion_parser,
    node_parser,
    shell_parser,
)
from entresol.errors import EntresolError, InvalidConfig, ReplayMismatch
from entresol.node.config.schema import SETTINGS, NodeConfig
from entresol.node.config.secrets import read_secret_files
from entresol.node.config.setting import PREFIX

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.cluster.node import ClusterNode
    from entresol.node.layer_one_node import LayerOneNode
    from entresol.node.log.log import NodeLog
    from entresol.node.node import Node

    AnyNode: TypeAlias = Node | LayerOneNode | ClusterNode
    OpenNode: TypeAlias = Callable[[NodeConfig, NodeLog], Coroutine[Any, Any, AnyNode]]

T = TypeVar("T")

# Modules that only one command needs are imported there, so that an error in a flag is reported at once.

SWITCH_SECONDS: Final = 1e-3
"""The interpreter's switch interval: worker threads of calls often need the GIL."""

FAILED: Final = 1
USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130

PROGRESS_BLOCKS: Final = 1_000

LAYER_1, LAYER_2 = "layer 1", "layer 2"


def command() -> NoReturn:
    """Run the command line, and exit the process."""
    code = main()
    if threading.active_count() > 1:
        # A call is still running on a thread. Its client is disconnected, so there is no need to wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        if words[:1] == ["anvil"]:
            return _anvil(words[1:])
        if words[:1] == ["cluster"]:
            return _cluster(words[1:])
        if words[:1] == ["backup"]:
            return _backup(words[1:])
        if words[:1] == ["shell"]:
            return _shell(words[1:])
        if words[:1] == ["completion"]:
            return _completion(words[1:])
        flags = node_parser().parse(words)
        config = read_secret_files(SETTINGS.load(flags, os.environ, flags["config"]))
        return _COMMANDS[flags["command"]](config)
    except KeyboardInterrupt:
        return INTERRUPTED
    except InvalidConfig as error:
        return _print_error(error, USAGE_ERROR)
    except EntresolError as error:
        return _print_error(error, FAILED)


def _anvil(words: Sequence[str]) -> int:
    from entresol.node.config.anvil import ANVIL_SETTINGS  # noqa: PLC0415
    from entresol.node.config.anvil_settings import node_config  # noqa: PLC0415
    from entresol.node.layer_one_node import LayerOneNode  # noqa: PLC0415

    # The one variable that anvil reads.
    host = os.environ.get("ANVIL_IP_ADDR")
    environment = {} if host is None else {f"{PREFIX}HOST": host}
    config = node_config(ANVIL_SETTINGS.load(anvil_parser().parse(words), environment))
    return _start(config, LayerOneNode.open)


def _run(config: NodeConfig) -> int:
    if config.cluster.cluster is not None:
        return _start(config, _cluster_module("node").ClusterNode.open)
    from entresol.node.node import Node  # noqa: PLC0415

    return _start(config, Node.open)


def _cluster(words: Sequence[str]) -> int:
    """Run a command of operators on a cluster."""
    flags = cluster_parser().parse(words)
    config = read_secret_files(SETTINGS.load(flags, os.environ, flags["config"]))
    commands, block = _cluster_module("commands"), flags["to"]
    if flags["command"] == "unwind":
        if block is None:
            raise InvalidConfig("--to", "this command needs the block to unwind to")
        print(asyncio.run(commands.unwind(config, block)))
    elif flags["command"] == "status":
        print(asyncio.run(commands.status(config)).table())
    else:
        print(asyncio.run(commands.init(config)))
    return 0


def _backup(words: Sequence[str]) -> int:
    """Copy the data directory of a node, which may be running."""
    from entresol.node.chains import L1_FOLDER  # noqa: PLC0415
    from entresol.storage.replication.backup import copy_chain  # noqa: PLC0415

    flags = backup_parser().parse(words)
    config = SETTINGS.load({"data_dir": flags["data_dir"]}, os.environ)
    source = _data_directory(config)
    if (source / L1_FOLDER).exists():
        problem = "it has a development L1, too: stop the node, and copy the directory"
        raise InvalidConfig("--data-dir", problem)
    copy_chain(source, flags["dest"])
    return 0


def _completion(words: Sequence[str]) -> int:
    """Print the script that completes commands and flags in a shell."""
    from entresol.cli.completion import script  # noqa: PLC0415

    print(script(completion_parser().parse(words)["shell"]), end="")
    return 0


def _shell(words: Sequence[str]) -> int:
    """Open a console with both layers."""
    flags = shell_parser().parse(words)
    from entresol.cli.shell import open_shell  # noqa: PLC0415
    from entresol.inprocess.devnet import Devnet, devnet_config  # noqa: PLC0415

    given = {name: value for name, value in flags.items() if value is not None}
    with Devnet(devnet_config(given, os.environ)) as net:
        open_shell(net)
    return 0


def _cluster_module(name: str) -> Any:
    """Import a module of clusters, which need a package that is not installed otherwise."""
    try:
        return importlib.import_module(f"entresol.node.cluster.{name}")
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        problem = "this needs a package that is missing: pip install 'entresol[cluster]'"
        raise InvalidConfig("--cluster", problem) from None


def _start(config: NodeConfig, open_node: OpenNode) -> int:
    import uvloop  # noqa: PLC0415

    from entresol.node.log.log import NodeLog  # noqa: PLC0415
    from entresol.server.limits import allow_open_files  # noqa: PLC0415

    sys.setswitchinterval(SWITCH_SECONDS)
    allow_open_files(config.server.connection_limit)
    log = NodeLog.to_terminal(config.log)
    try:
        uvloop.run(_serve(config, log, open_node))
    finally:
        log.close()
    return 0


async def _serve(config: NodeConfig, log: NodeLog, open_node: OpenNode) -> None:
    from entresol.node.startup.banner import banner, ready_line  # noqa: PLC0415
    from entresol.node.startup.garbage import collect_less  # noqa: PLC0415

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


def _rebuild(config: NodeConfig) -> int:
    from entresol.chain.rebuild import rebuild  # noqa: PLC0415
    from entresol.storage.store import Store  # noqa: PLC0415

    for layer, path in _layers(_data_directory(config)):
        store = Store.open(path, rebuilding=True)
        try:
            rebuild(store, _progress(layer, "rebuilt"))
        finally:
            store.close()
    return 0


def _verify(config: NodeConfig) -> int:
    from entresol.node.chains import open_layer_one, open_layer_two  # noqa: PLC0415
    from entresol.node.settlement.settlement_layer import configured_contracts  # noqa: PLC0415

    layers = dict(_layers(_data_directory(config)))
    layer_two, _ = open_layer_two(config, *configured_contracts(config))
    with contextlib.closing(layer_two):
        code = _compare(LAYER_2, layer_two)
        if LAYER_1 in layers:
            with contextlib.closing(open_layer_one(config, layer_two)) as layer_one:
                code = max(code, _compare(LAYER_1, layer_one))
    return code


def _compare(layer: str, chain: Chain) -> int:
    """Execute every block of a chain again, print the result, and return the exit code."""
    try:
        chain.verify(_progress(layer, "verified"))
    except ReplayMismatch as error:
        return _print_error(error, FAILED, f"{layer}: ")
    head = f"block {chain.number} {chain.head.hash()}"
    print(f"{layer}: {head} matches its transactions")
    return 0


_COMMANDS: Final[dict[str, Callable[[NodeConfig], int]]] = {
    "run": _run,
    "rebuild": _rebuild,
    "verify": _verify,
}


def _data_directory(config: NodeConfig) -> Path:
    from entresol.storage.database.directory import FORMAT_FILE  # noqa: PLC0415

    if config.chain.data_dir is None:
        raise InvalidConfig("--data-dir", "this command needs a data directory")
    path = Path(config.chain.data_dir)
    if not (path / FORMAT_FILE).exists():
        raise InvalidConfig("--data-dir", f"there is no chain in {path}")
    return path


def _layers(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the layers of the chains in a data directory, and their paths."""
    from entresol.node.chains import L1_FOLDER  # noqa: PLC0415
    from entresol.storage.database.directory import FORMAT_FILE  # noqa: PLC0415

    yield LAYER_2, path
    if (path / L1_FOLDER / FORMAT_FILE).exists():
        yield LAYER_1, path / L1_FOLDER


def _progress(layer: str, verb: str) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if done == total or done % PROGRESS_BLOCKS == 0:
            print(f"{layer}: {verb} {done:,} of {total:,} blocks", file=sys.stderr)

    return report


def _print_error(error: EntresolError, code: int, where: str = "") -> int:
    print(f"error: {where}{error}", file=sys.stderr)
    return code
