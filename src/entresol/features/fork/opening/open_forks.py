"""Open the remote chains of a node's forks, and say what they change of its settings."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import structs

from entresol.errors import InvalidConfig
from entresol.execution.block_executor import BEACON_ROOTS, HISTORY_STORAGE
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.features.fork.config.folders import chain_folders
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.config.resolving import (
    CachePlace,
    PlannedFork,
    PlannedForks,
    planned_forks,
)
from entresol.features.fork.opening.fork_report import fork_page, fork_samples
from entresol.features.fork.opening.open_fork import OpenFork
from entresol.features.workers.settings import WorkersConfig, worker_count
from entresol.node.dev_features import development_accounts
from entresol.primitives.values import Address
from entresol.storage.database.directory import FORMAT_FILE, check_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from entresol.features.fork.opening.first_block import FirstBlock
    from entresol.features.fork.remote_chain import RemoteChain
    from entresol.node.config.schema import NodeConfig
    from entresol.node.metrics import Sample
    from entresol.primitives.anchor import Anchor

log = logging.getLogger(__name__)

ERA_CHAINS: Final = frozenset({232, 300, 324, 388, 2741, 11124, 37111, 50104, 61166, 531050})
"""Public chains whose contracts are EraVM code: Era, Abstract, Lens and others, and their test networks."""
OTHER_L1_CHAIN_ID: Final = 31338
"""The chain id of the development L1 below a fork that has its default."""

_FORK_MODULES: Final = (
    "entresol.features.fork.cache.fork_cache",
    "entresol.features.fork.remote_chain",
)
"""The modules that only nodes with forks need."""
_STORE_MODULE: Final = "entresol.storage.store"
"""The module that a fork on disk needs before it asks its remote."""
_ROUTER_MODULE: Final = "entresol.features.fork.past.new_router"
"""The module they need once the remote has responded."""


class OpenForks(NamedTuple):
    """The open forks of a node, and its settings with what the remotes have in place of defaults."""

    config: NodeConfig
    l2: OpenFork | None = None
    """The one chain of `entresol anvil`."""
    l1: OpenFork | None = None
    chains: tuple[OpenFork | None, ...] = ()
    """The forks of the tables `[[chains]]`, in place of `l2`."""

    @property
    def parts(self) -> tuple[OpenFork, ...]:
        """The forks that there are."""
        return tuple(fork for fork in (self.l2, *self.chains, self.l1) if fork is not None)

    def of(self, index: int) -> OpenForks:
        """Return what concerns one of the L2s."""
        forks = self.chains or (self.l2,)
        # One that was added while the node runs is none.
        return self._replace(l2=forks[index] if index < len(forks) else None, chains=())

    @property
    def timestamp(self) -> int | None:
        """The time at which a fresh L2 beside or above them begins; None if there are none."""
        found = self.parts if self.l1 is None else (self.l1,)
        return max((anchor.timestamp for anchor in found), default=None)

    def health(self) -> dict[str, Any]:
        """Return what `/health` of the L2 says of them."""
        return {name: fork.health() for name, fork in self._named.items()}

    def page(self) -> dict[str, Any]:
        """Return what the explorer of the L2 shows of them."""
        return {name: fork_page(fork.remote) for name, fork in self._named.items()}

    def metrics(self) -> Iterator[Sample]:
        """Yield the metrics of the L2's fork; the L1 has its own."""
        yield from () if self.l2 is None else fork_samples(self.l2.remote)

    @property
    def problem(self) -> str | None:
        """The wait for the remote of the L2, if it is long."""
        return None if self.l2 is None else self.l2.problem

    @property
    def of_layer_one(self) -> OpenForks:
        """The part for the L1 as a chain of its own."""
        return OpenForks(self.config, l2=self.l1)

    @property
    def _named(self) -> dict[str, OpenFork]:
        named = {"fork": self.l2, "l1Fork": self.l1}
        return {name: fork for name, fork in named.items() if fork is not None}

    def close(self) -> None:
        """Close the remotes."""
        for fork in self.parts:
            fork.close()


async def open_forks(config: NodeConfig, *, is_alone: bool = False) -> OpenForks:
    """Open the remotes that the configuration names; `is_alone` if the node's chain is an L1 alone, as anvil's."""
    planned = planned_forks(config)
    if not planned:
        return OpenForks(config)
    # Here rather than on the thread: others may be imported meanwhile, and two threads may see modules half done.
    for name in _FORK_MODULES:
        importlib.import_module(name)
    if config.chain.data_dir is not None:
        importlib.import_module(_STORE_MODULE)
    loop = asyncio.get_running_loop()
    opening = loop.run_in_executor(None, _open, config, planned, is_alone)
    # While the remote is waited for.
    importlib.import_module(_ROUTER_MODULE)
    forks = await opening
    try:
        for fork in forks.parts:
            if fork.remote.settings.transaction_hash is not None:
                fork.first_block = await _first_block(fork.remote)
    except BaseException:
        forks.close()
        raise
    return forks


async def _first_block(remote: RemoteChain) -> FirstBlock | None:
    # Few forks have one.
    from entresol.features.fork.opening.first_block import read_first_block  # noqa: PLC0415

    return await read_first_block(remote)


def open_stored_forks(config: NodeConfig) -> OpenForks:
    """Open the forks in a data directory by their caches alone, for what executes their blocks again; it blocks."""
    planned = planned_forks(config)
    forks: list[OpenFork | None] = []
    l1_folder, *folders = chain_folders(config)
    for plan, prefix, folder in (
        (planned.l1, "--l1-", l1_folder),
        *((plan, "--", folder) for plan, folder in zip(_of_l2s(planned), folders, strict=True)),
    ):
        anchor = _stored_anchor(folder)
        if anchor is None:
            forks.append(None)
            continue
        settings = ForkSettings(
            is_offline=True, block_hash=anchor.hash, chain_id=anchor.chain_id, flag_prefix=prefix
        )
        place = CachePlace(None, 0) if plan is None else plan.cache
        forks.append(_open_one(PlannedFork(settings, place), folder, "entresol", None))
    return _opened(config, *forks, is_alone=False)


def _open(config: NodeConfig, planned: PlannedForks, is_alone: bool) -> OpenForks:  # noqa: FBT001 - on a thread
    command = "entresol anvil" if is_alone else "entresol"
    plans = _of_l2s(planned)
    l1: OpenFork | None = None
    l2s: list[OpenFork | None] = [None] * len(plans)
    written = _written(config)
    l1_folder, *folders = chain_folders(config)
    for folder in (*folders, l1_folder):
        # Nothing is written to a directory that holds something else.
        if folder is not None:
            check_directory(folder)

    def open_l2s(*, are_pinned: bool) -> None:
        for index, plan in enumerate(plans):
            if plan is not None and _is_pinned(plan.settings) == are_pinned:
                time = _earliest(l2s) if l1 is None else l1.timestamp
                l2s[index] = _open_one(plan, folders[index], command, time, written)

    try:
        # Where only some blocks are given, the other layers are as they were at that time.
        open_l2s(are_pinned=True)
        if planned.l1 is not None:
            l1 = _open_one(planned.l1, l1_folder, command, _earliest(l2s), written)
        open_l2s(are_pinned=False)
        return _opened(config, l1, *l2s, is_alone=is_alone)
    except BaseException:
        OpenForks(config, None, l1, tuple(l2s)).close()
        raise


def _opened(
    config: NodeConfig, l1: OpenFork | None, *l2s: OpenFork | None, is_alone: bool
) -> OpenForks:
    found = OpenForks(config, l1=l1, chains=l2s)
    if not config.chains:
        found = found.of(0)
    for fork in found.parts:
        # On this thread, which may wait for what was not read ahead.
        fork.accounts(_written(config))
    return found._replace(config=_effective(config, found, is_alone=is_alone))


def _of_l2s(planned: PlannedForks) -> tuple[PlannedFork | None, ...]:
    return planned.chains or (planned.l2,)


def _earliest(forks: Iterable[OpenFork | None]) -> int | None:
    return min((fork.timestamp for fork in forks if fork is not None), default=None)


def _written(config: NodeConfig) -> tuple[Address, ...]:
    return (
        Address.zero(),
        BEACON_ROOTS,
        HISTORY_STORAGE,
        *(
            account.address
            for layer in (config, *config.chains)
            for account in development_accounts(layer.chain)
        ),
    )


def _is_pinned(settings: ForkSettings) -> bool:
    return any(
        given is not None
        for given in (settings.block_number, settings.block_hash, settings.transaction_hash)
    )


def _open_one(
    planned: PlannedFork,
    folder: Path | None,
    command: str,
    not_after: int | None,
    written: Sequence[Address] = (),
) -> OpenFork:
    # Only nodes with forks need them.
    from entresol.features.fork.cache.fork_cache import (  # noqa: PLC0415
        CacheSettings,
        Recording,
        open_cache,
    )
    from entresol.features.fork.remote_chain import RemoteChain  # noqa: PLC0415

    settings = planned.settings
    stored = _stored_anchor(folder)
    if stored is not None and settings.block_number is None and settings.block_hash is None:
        # A chain on disk stays on its block, whatever is the latest one now, or above which one a transaction is.
        settings = structs.replace(settings, block_hash=stored.hash)
    elif not _is_pinned(settings):
        settings = structs.replace(settings, not_after=not_after)
    cache = open_cache(
        CacheSettings(
            place=planned.cache.path,
            data_dir=folder,
            max_bytes=planned.cache.max_bytes,
            is_stored=planned.cache.is_on_disk,
            is_offline=settings.is_offline,
            recording=Recording(command, settings.flag_prefix),
            is_verified=settings.verify,
        ),
        os.environ,
        log.warning,
    )
    fork = OpenFork(RemoteChain.open(settings, cache, [bytes(address) for address in written]))
    anchor = fork.remote.anchor
    log.info("fork of %s, from %s", anchor, fork.remote.host)
    if anchor.chain_id in ERA_CHAINS:
        log.warning(
            "contracts of chain %d are EraVM code: balances and storage can be read, and only EVM code is executed",
            anchor.chain_id,
        )
    return fork


def _effective(config: NodeConfig, forks: OpenForks, *, is_alone: bool) -> NodeConfig:
    """Return the settings with what the remotes have in place of defaults."""
    if worker_count(config) > 1:
        log.warning("--workers: a fork is served by one process")
    if is_alone:
        return _of_layers(config, forks, None, is_alone=True)
    chains = tuple(
        _of_layers(chain, forks.of(index), forks.timestamp)
        for index, chain in enumerate(config.chains)
    )
    config = _of_layers(config, forks, forks.timestamp)
    return _with_distinct_ids(structs.replace(config, chains=chains), forks)


def _of_layers(
    config: NodeConfig, forks: OpenForks, time: int | None, *, is_alone: bool = False
) -> NodeConfig:
    """Return the settings of one L2 with its L1; if it is fresh, or a chain is added to it, that begins at a time."""
    config = config.with_(WorkersConfig, workers=1)
    if forks.l2 is not None:
        config = _of_l2(config, forks.l2, is_alone=is_alone)
    if config.chain.timestamp is None:
        config = structs.replace(config, chain=structs.replace(config.chain, timestamp=time))
    return config if forks.l1 is None or is_alone else _of_l1(config, forks.l1)


def _of_l2(config: NodeConfig, fork: OpenFork, *, is_alone: bool) -> NodeConfig:
    chain, given, header = config.chain, config.given, fork.remote.anchor.header
    if "chain_id" not in given:
        chain = structs.replace(chain, chain_id=fork.remote.anchor.chain_id)
    if is_alone and "hardfork" not in given:
        chain = structs.replace(chain, hardfork=fork.remote.hardfork)
    if is_alone and "gas_limit" not in given:
        chain = structs.replace(chain, gas_limit=header.gas_limit or MAX_GAS_LIMIT)
    _check_time(chain.timestamp, header.timestamp)
    return structs.replace(config, chain=chain)


def _of_l1(config: NodeConfig, fork: OpenFork) -> NodeConfig:
    l1, evm, blocks, given = config.l1, config.evm, config.l1_blocks, config.given
    header = fork.remote.anchor.header
    if "l1_chain_id" not in given:
        l1 = structs.replace(l1, l1_chain_id=fork.remote.anchor.chain_id)
    if "l1_hardfork" not in given:
        if fork.remote.hardfork not in {"cancun", "prague", "osaka"}:
            problem = f"block {header.number} is of {fork.remote.hardfork}, and the settlement contracts need Cancun"
            raise InvalidConfig("--l1-fork-block-number", problem)
        evm = structs.replace(evm, l1_hardfork=fork.remote.hardfork)
    if "l1_gas_limit" not in given:
        blocks = structs.replace(blocks, l1_gas_limit=header.gas_limit or MAX_GAS_LIMIT)
    return structs.replace(config, l1=l1, evm=evm, l1_blocks=blocks)


def _with_distinct_ids(config: NodeConfig, forks: OpenForks) -> NodeConfig:
    """Give the development L1 another id if a copy above it has its default; two copies with one id are rejected."""
    l1, ids = config.l1, {chain.chain.chain_id for chain in config.chains or (config,)}
    if not l1.l1 or l1.l1_url is not None or l1.l1_chain_id not in ids:
        return config
    chain_id = l1.l1_chain_id
    if forks.l1 is not None:
        raise InvalidConfig(
            "--l1-fork-url",
            f"both layers would have the chain id {chain_id}: give one of them another by --chain-id or --l1-chain-id",
        )
    if "l1_chain_id" in config.given:
        return config
    log.warning(
        "the fork has chain id %d, so the development L1 takes %d", chain_id, OTHER_L1_CHAIN_ID
    )
    chains = tuple(_with_other_id(chain) for chain in config.chains)
    return structs.replace(_with_other_id(config), chains=chains)


def _with_other_id(config: NodeConfig) -> NodeConfig:
    return structs.replace(config, l1=structs.replace(config.l1, l1_chain_id=OTHER_L1_CHAIN_ID))


def _check_time(given: int | None, anchor: int) -> None:
    if given is not None and given < anchor:
        raise InvalidConfig(
            "--timestamp", f"the fork stands on a block of {anchor}, which is later"
        )


def _stored_anchor(folder: Path | None) -> Anchor | None:
    """Return the anchor of the fork in a folder; None if there is no chain, or one that is not a fork."""
    if folder is None or not (folder / FORMAT_FILE).exists():
        return None
    from entresol.storage.store import Store  # noqa: PLC0415 - a fork that is not on disk asks its remote without it

    with closing(Store.open(folder)) as store:
        return store.fork.anchor
