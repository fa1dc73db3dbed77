"""The commands on the chains in a data directory: `rebuild`, `verify` and `backup`."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from entresol._native import wait_for_remote
from entresol.chain.ledger import rebuild
from entresol.counted import counted
from entresol.errors import InvalidConfig, ReplayMismatch, StoreFailed
from entresol.features.adding.records import ADDED_FILE, AddedChain, added_at, added_chains
from entresol.features.fork.cache.cache_files import copy_caches
from entresol.features.fork.config.folders import L1_FOLDER
from entresol.features.fork.config.resolving import planned_forks
from entresol.features.fork.opening.open_forks import OpenForks, open_forks, open_stored_forks
from entresol.node.ecosystem_directory import (
    CHAINS_FILE,
    EcosystemDirectory,
    StoredChains,
    check_layout,
)
from entresol.node.layer_two_configs import layer_two_configs
from entresol.node.opening.chain_parts import indexes_of
from entresol.node.opening.layer_one import open_layer_one
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.remote_tokens import stored_base_tokens
from entresol.node.settlement.settlement_layer import configured_contracts
from entresol.storage.database.backup import copy_chains
from entresol.storage.database.directory import FORK_FOLDER, FORMAT_FILE, DirectoryLock
from entresol.storage.store import Store
from entresol.terminal.exit_codes import FAILED, SUCCEEDED, print_error

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.config.schema import NodeConfig

PROGRESS_BLOCKS: Final = 1_000

LAYER_1, LAYER_2 = "layer 1", "layer 2"


def rebuild_chains(config: NodeConfig) -> int:
    """Rebuild the derived tables of each chain, and return the exit code."""
    folders, indexes, blocks = _chains(config), indexes_of(config), 0
    with _locked(config):
        for name, path in folders.items():
            with contextlib.closing(Store.open(path, rebuilding=True, indexes=indexes)) as store:
                progress = _Progress(name, "rebuilt")
                rebuild(store, progress)
                blocks += progress.blocks
    print(
        f"The indexes of {_chains_in(config, folders)} are rebuilt from {counted(blocks, 'block')}."
    )
    return SUCCEEDED


def verify_chains(config: NodeConfig) -> int:
    """Execute every block of each chain again, and return the exit code.

    A fork reads what its blocks have read: from its cache, and with --fork-url what is not there from the remote.
    """
    summary = _Summary()
    _chains(config)
    if len(layer_two_configs(config)) > 1:
        # Before the anchors of forks are read in its folders.
        DirectoryLock(_data_directory(config)).close()
    with contextlib.closing(_open_forks(config)) as forks, _locked(config) as stack:
        config = forks.config
        stack.enter_context(_waiting(forks))
        folders, configs, added = _chains(config), layer_two_configs(config), _added(config)
        layer_twos, tokens = [], stored_base_tokens(configs)
        for index, (settings, token) in enumerate(zip(configs, tokens, strict=True)):
            chain, _ = open_layer_two(
                settings,
                *configured_contracts(settings, index),
                base_token=token,
                fork=forks.of(index).l2,
            )
            layer_twos.append(stack.enter_context(contextlib.closing(chain)))
        for name, chain in zip(folders, layer_twos, strict=False):
            summary.add(_verify(name, chain))
        for name, record in added.items():
            l1_chain_id = config.l1.l1_chain_id
            settings, token = record.config(config), record.base_token
            chain, _ = open_layer_two(settings, l1_chain_id, record.contracts, base_token=token)
            summary.add(_verify(name, stack.enter_context(contextlib.closing(chain))))
        if LAYER_1 in folders:
            opened = open_layer_one(config, layer_twos, base_tokens=tokens, fork=forks.l1)
            layer_one = stack.enter_context(contextlib.closing(opened))
            summary.add(_verify(LAYER_1, layer_one))
    return summary.end(_chains_in(config, folders))


def back_up(config: NodeConfig, destination: Path) -> int:
    """Copy the data directory of a node, which may be running, and return the exit code."""
    source = _data_directory(config)
    stored = StoredChains.at(source)
    folders = [Path()] if stored is None else [Path(str(chain)) for chain in stored.chains]
    if not (source / folders[0] / FORMAT_FILE).exists():
        raise InvalidConfig("--data-dir", f"there is no chain in {source}")
    added = added_at(source)
    folders += [
        Path(str(chain.chain_id)) for chain in added if _has_chain(source / str(chain.chain_id))
    ]
    if _has_chain(source / L1_FOLDER):
        folders.append(Path(L1_FOLDER))
    copy_chains(source, destination, folders)
    for folder in folders:
        copy_caches(source / folder / FORK_FOLDER, destination / folder / FORK_FOLDER)
    if added_at(source) != added:
        shutil.rmtree(destination, ignore_errors=True)
        raise StoreFailed(f"a chain was added to {source} while it was copied: try again")
    if added:
        shutil.copy2(source / ADDED_FILE, destination / ADDED_FILE)
    if stored is not None:
        shutil.copy2(source / CHAINS_FILE, destination / CHAINS_FILE)
    copied = counted(len(folders), "chain")
    print(f"{copied} of {source} copied to {destination}, as of one moment.")
    return SUCCEEDED


def _open_forks(config: NodeConfig) -> OpenForks:
    return asyncio.run(open_forks(config)) if planned_forks(config) else open_stored_forks(config)


@contextlib.contextmanager
def _waiting(forks: OpenForks) -> Iterator[None]:
    seconds = max((part.remote.settings.timeout for part in forks.parts), default=None)
    wait_for_remote(seconds)
    try:
        yield
    finally:
        wait_for_remote(None)


class _Summary:
    """The findings of `verify` in all chains so far."""

    def __init__(self) -> None:
        self._blocks: list[int] = []
        """The blocks of each chain that is right."""
        self._wrong = 0

    def add(self, blocks: int | None) -> None:
        """Add a chain with so many blocks, or None if it is wrong."""
        if blocks is None:
            self._wrong += 1
        else:
            self._blocks.append(blocks)

    def end(self, chains: str) -> int:
        """Print a sentence, and return the exit code."""
        if self._wrong:
            verb = "differs" if self._wrong == 1 else "differ"
            print(f"{self._wrong} of {chains} {verb} from what was stored.", file=sys.stderr)
            return FAILED
        count = sum(self._blocks)
        print(f"{counted(count, 'block')} of {chains} executed again: all match.")
        return SUCCEEDED


def _verify(layer: str, chain: Chain) -> int | None:
    """Verify a chain, print the result, and return how many blocks it has; None if one is wrong."""
    progress = _Progress(layer, "verified")
    try:
        chain.verify(progress)
    except ReplayMismatch as error:
        print_error(error, FAILED, f"{layer}: ")
        return None
    head = f"block {chain.number} {chain.head.hash()}"
    print(f"{layer}: {head} matches its transactions")
    return progress.blocks


def _locked(config: NodeConfig) -> contextlib.ExitStack:
    """Return a stack with the lock of a directory of several chains."""
    stack = contextlib.ExitStack()
    stack.callback(EcosystemDirectory.open(config, layer_two_configs(config)).close)
    return stack


def _data_directory(config: NodeConfig) -> Path:
    if config.chain.data_dir is None:
        raise InvalidConfig("--data-dir", "this command needs a data directory")
    return Path(config.chain.data_dir)


def _chains(config: NodeConfig) -> dict[str, Path]:
    """Return the folders of the chains in the data directory, the L2s first, by what people call them."""
    directory = _data_directory(config)
    configs = layer_two_configs(config)
    check_layout(config, configs)
    found: dict[str, Path] = {}
    for chain in configs:
        path = Path(chain.chain.data_dir or "")
        if not (path / FORMAT_FILE).exists():
            raise InvalidConfig("--data-dir", f"there is no chain in {path}")
        found[LAYER_2 if len(configs) == 1 else f"chain {chain.chain.chain_id}"] = path
    for name, record in _added(config).items():
        found[name] = directory / str(record.chain_id)
    layer_one = directory / L1_FOLDER
    if (layer_one / FORMAT_FILE).exists():
        found[LAYER_1] = layer_one
    return found


def _added(config: NodeConfig) -> dict[str, AddedChain]:
    """Return the chains that were added, by what people call them; one whose addition was interrupted may have none."""
    directory = _data_directory(config)
    return {
        f"chain {added_chain.chain_id}": added_chain
        for added_chain in added_chains(config)
        if _has_chain(directory / str(added_chain.chain_id))
    }


def _has_chain(folder: Path) -> bool:
    return (folder / FORMAT_FILE).exists()


class _Progress:
    """Prints how far work on a chain is. Remembers: how many blocks it has."""

    def __init__(self, layer: str, verb: str) -> None:
        self._layer = layer
        self._verb = verb
        self.blocks = 0

    def __call__(self, done: int, total: int) -> None:
        """Print a line, every so many blocks and at the end."""
        self.blocks = total
        if done == total or done % PROGRESS_BLOCKS == 0:
            line = f"{self._layer}: {self._verb} {done:,} of {total:,} blocks"
            print(line, file=sys.stderr)


def _chains_in(config: NodeConfig, folders: Mapping[str, Path]) -> str:
    return f"{counted(len(folders), 'chain')} in {_data_directory(config)}"
