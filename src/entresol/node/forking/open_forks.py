"""Open the remote chains of a node's forks, and say what they change of its settings."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import structs

from entresol.errors import InvalidConfig
from entresol.execution.evm_env import MAX_GAS_LIMIT
from entresol.execution.system_calls import BEACON_ROOTS, HISTORY_STORAGE
from entresol.fork.settings import ForkSettings
from entresol.node.config.api import worker_count
from entresol.node.config.forking.resolving import (
    CachePlace,
    PlannedFork,
    PlannedForks,
    planned_forks,
)
from entresol.node.dev_features import development_accounts
from entresol.node.forking.first_block import read_first_block
from entresol.node.forking.open_fork import OpenFork
from entresol.node.forking.stored_anchor import stored_anchor
from entresol.node.opening.chain_parts import L1_FOLDER, data_path
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig

log = logging.getLogger(__name__)

ERA_CHAINS: Final = frozenset({232, 300, 324, 388, 2741, 11124, 37111, 50104, 61166, 531050})
"""Public chains whose contracts are EraVM code: Era, Abstract, Lens and others, and their test networks."""
OTHER_L1_CHAIN_ID: Final = 31338
"""The chain id of the development L1 below a fork that has its default."""


class OpenForks(NamedTuple):
    """The open forks of a node, and its settings with what the remotes have in place of defaults."""

    config: NodeConfig
    l2: OpenFork | None = None
    """Of `entresol anvil`, its one chain."""
    l1: OpenFork | None = None

    @property
    def parts(self) -> tuple[OpenFork, ...]:
        """The forks that there are."""
        return tuple(it for it in (self.l2, self.l1) if it is not None)

    def health(self) -> dict[str, Any]:
        """Return what `/health` of the L2 says of them."""
        named = {"fork": self.l2, "l1Fork": self.l1}
        return {name: it.health() for name, it in named.items() if it is not None}

    def close(self) -> None:
        """Close the remotes."""
        for fork in self.parts:
            fork.close()


async def open_forks(config: NodeConfig, *, is_alone: bool = False) -> OpenForks:
    """Open the remotes that the configuration names; `is_alone` if the node's chain is an L1 alone, as anvil's."""
    planned = planned_forks(config)
    if not planned:
        return OpenForks(config)
    loop = asyncio.get_running_loop()
    forks = await loop.run_in_executor(None, _open, config, planned, is_alone)
    try:
        for fork in forks.parts:
            fork.first_block = await read_first_block(fork.remote)
    except BaseException:
        forks.close()
        raise
    return forks


def open_stored_forks(config: NodeConfig) -> OpenForks:
    """Open the forks in a data directory by their caches alone, for what executes their blocks again; it blocks."""
    path = data_path(config.chain)
    planned = planned_forks(config)
    forks: list[OpenFork | None] = []
    for plan, prefix, folder in (
        (planned.l2, "--", path),
        (planned.l1, "--l1-", None if path is None else path / L1_FOLDER),
    ):
        anchor = stored_anchor(folder)
        if anchor is None:
            forks.append(None)
            continue
        settings = ForkSettings(
            is_offline=True, block_hash=anchor.hash, chain_id=anchor.chain_id, flag_prefix=prefix
        )
        place = CachePlace(None, 0) if plan is None else plan.cache
        forks.append(_open_one(PlannedFork(settings, place), folder, "entresol", None))
    opened = OpenForks(config, *forks)
    _read_accounts(opened)
    return opened._replace(config=_effective(config, opened, is_alone=False))


def _open(config: NodeConfig, planned: PlannedForks, is_alone: bool) -> OpenForks:  # noqa: FBT001 - on a thread
    l2 = l1 = None
    path = data_path(config.chain)
    command = "entresol anvil" if is_alone else "entresol"
    try:
        # Where only one block is given, the other layer is as it was at that time.
        first_l2 = planned.l2 is not None and (
            planned.l1 is None or _is_pinned(planned.l2.settings)
        )
        if planned.l2 is not None and first_l2:
            l2 = _open_one(planned.l2, path, command, None)
        if planned.l1 is not None:
            folder = None if path is None else path / L1_FOLDER
            l1 = _open_one(planned.l1, folder, command, None if l2 is None else l2.timestamp)
        if planned.l2 is not None and l2 is None:
            l2 = _open_one(planned.l2, path, command, None if l1 is None else l1.timestamp)
        forks = OpenForks(config, l2, l1)
        _read_accounts(forks)
        return forks._replace(config=_effective(config, forks, is_alone=is_alone))
    except BaseException:
        OpenForks(config, l2, l1).close()
        raise


def _read_accounts(forks: OpenForks) -> None:
    """Read what a start writes to, on this thread, which may wait for it."""
    written = (
        Address.zero(),
        BEACON_ROOTS,
        HISTORY_STORAGE,
        *(it.address for it in development_accounts(forks.config.chain)),
    )
    for fork in forks.parts:
        fork.accounts(written)


def _is_pinned(settings: ForkSettings) -> bool:
    return any(
        it is not None
        for it in (settings.block_number, settings.block_hash, settings.transaction_hash)
    )


def _open_one(
    planned: PlannedFork, folder: Path | None, command: str, not_after: int | None
) -> OpenFork:
    # Only nodes with forks need them.
    from entresol.fork.cache.cache import Recording  # noqa: PLC0415
    from entresol.fork.cache.open_cache import CacheSettings, open_cache  # noqa: PLC0415
    from entresol.fork.remote_chain import RemoteChain  # noqa: PLC0415

    settings = planned.settings
    stored = stored_anchor(folder)
    if stored is not None and not _is_pinned(settings):
        # A chain on disk stays on its block, whatever is the latest one now.
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
        ),
        os.environ,
        log.warning,
    )
    fork = OpenFork(RemoteChain.open(settings, cache))
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
    if worker_count(config.api) > 1:
        log.warning("--workers: a fork is served by one process")
        config = structs.replace(config, api=structs.replace(config.api, workers=1))
    if forks.l2 is not None:
        config = _of_l2(config, forks.l2, is_alone=is_alone)
    if is_alone:
        return config
    if forks.l1 is not None:
        config = _of_l1(config, forks, forks.l1)
    return _with_distinct_ids(config, forks)


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


def _of_l1(config: NodeConfig, forks: OpenForks, fork: OpenFork) -> NodeConfig:
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
    chain = config.chain
    if chain.timestamp is None and forks.l2 is None:
        # A fresh L2 begins at the time of its L1.
        chain = structs.replace(chain, timestamp=header.timestamp)
    return structs.replace(config, chain=chain, l1=l1, evm=evm, l1_blocks=blocks)


def _with_distinct_ids(config: NodeConfig, forks: OpenForks) -> NodeConfig:
    """Give the development L1 another id if the copy above it has its default; two copies with one id are rejected."""
    chain_id, l1 = config.chain.chain_id, config.l1
    if not l1.l1 or l1.l1_url is not None or chain_id != l1.l1_chain_id:
        return config
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
    return structs.replace(config, l1=structs.replace(l1, l1_chain_id=OTHER_L1_CHAIN_ID))


def _check_time(given: int | None, anchor: int) -> None:
    if given is not None and given < anchor:
        raise InvalidConfig(
            "--timestamp", f"the fork stands on a block of {anchor}, which is later"
        )
