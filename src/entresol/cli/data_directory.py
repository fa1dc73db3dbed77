"""The commands on the chains in a data directory: `rebuild`, `verify` and `backup`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from entresol.chain.rebuild import rebuild
from entresol.cli.exit_codes import FAILED, SUCCEEDED, print_error
from entresol.errors import InvalidConfig, ReplayMismatch
from entresol.node.open_chains import L1_FOLDER, open_layer_one, open_layer_two
from entresol.node.settlement.settlement_layer import configured_contracts
from entresol.storage.database.backup import copy_chains
from entresol.storage.database.directory import FORMAT_FILE
from entresol.storage.store import Store

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.config.schema import NodeConfig

PROGRESS_BLOCKS: Final = 1_000

LAYER_1, LAYER_2 = "layer 1", "layer 2"


def rebuild_chains(config: NodeConfig) -> int:
    """Rebuild the derived tables of each chain, and return the exit code."""
    for layer, path in _layers(_data_directory(config)):
        store = Store.open(path, rebuilding=True)
        try:
            rebuild(store, _progress(layer, "rebuilt"))
        finally:
            store.close()
    return SUCCEEDED


def verify_chains(config: NodeConfig) -> int:
    """Execute every block of each chain again, and return the exit code."""
    layers = dict(_layers(_data_directory(config)))
    layer_two, _ = open_layer_two(config, *configured_contracts(config))
    with contextlib.closing(layer_two):
        code = _verify(LAYER_2, layer_two)
        if LAYER_1 in layers:
            with contextlib.closing(open_layer_one(config, (layer_two,))) as layer_one:
                code = max(code, _verify(LAYER_1, layer_one))
    return code


def back_up(config: NodeConfig, destination: Path) -> int:
    """Copy the data directory of a node, which may be running, and return the exit code."""
    source = _data_directory(config)
    folders = [path.relative_to(source) for _, path in _layers(source)]
    copy_chains(source, destination, folders)
    return SUCCEEDED


def _verify(layer: str, chain: Chain) -> int:
    """Verify a chain, print the result, and return the exit code."""
    try:
        chain.verify(_progress(layer, "verified"))
    except ReplayMismatch as error:
        return print_error(error, FAILED, f"{layer}: ")
    head = f"block {chain.number} {chain.head.hash()}"
    print(f"{layer}: {head} matches its transactions")
    return SUCCEEDED


def _data_directory(config: NodeConfig) -> Path:
    if config.chain.data_dir is None:
        raise InvalidConfig("--data-dir", "this command needs a data directory")
    path = Path(config.chain.data_dir)
    if not (path / FORMAT_FILE).exists():
        raise InvalidConfig("--data-dir", f"there is no chain in {path}")
    return path


def _layers(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the layers of the chains in a data directory, and their paths."""
    yield LAYER_2, path
    if (path / L1_FOLDER / FORMAT_FILE).exists():
        yield LAYER_1, path / L1_FOLDER


def _progress(layer: str, verb: str) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if done == total or done % PROGRESS_BLOCKS == 0:
            print(f"{layer}: {verb} {done:,} of {total:,} blocks", file=sys.stderr)

    return report
