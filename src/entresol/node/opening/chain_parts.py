"""The parts that every chain of a node is opened with: its store, its pool, its clock, when it seals."""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from entresol.chain.chain import Chain
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.mempool import PoolConfig
from entresol.errors import InvalidConfig
from entresol.execution.evm_env import ValidationLimits
from entresol.features.workers.settings import worker_count
from entresol.node.genesis_config import has_other_contracts
from entresol.node.loading import load_features
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.node.config.schema import ChainConfig, NodeConfig
    from entresol.storage.block_index import BlockIndex

log = logging.getLogger(__name__)


def new_store(config: NodeConfig, path: Path | None, *, is_synced: bool = True) -> Store:
    """Open the store of a chain, or a temporary one; workers read it, too."""
    shared, indexes = worker_count(config) > 1, indexes_of(config)
    if path is None:
        return Store.temporary(shared=shared, indexes=indexes)
    return Store.open(path, is_synced=is_synced, shared=shared, indexes=indexes)


def indexes_of(config: NodeConfig) -> tuple[BlockIndex, ...]:
    """Return the indexes that the stores of a node keep."""
    return tuple(index for feature in load_features() for index in feature.indexes(config))


@contextlib.contextmanager
def closed_on_failure(opened: Store | Chain) -> Iterator[None]:
    """Close what was opened if the block fails, so that its directory is not locked until it is collected."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


def pool_config(config: ChainConfig) -> PoolConfig:
    """Return what the pool of a chain holds, and in which order."""
    return PoolConfig(
        order=config.order,
        limit_bytes=config.pool_limit_bytes,
        validation=ValidationLimits(enforces_rules=not config.disable_validation_rules),
    )


def start_clock(chain: Chain, config: ChainConfig) -> None:
    """Let the clock of a chain with a given genesis time continue from its last block, as anvil does.

    The time of a fork is that of its last block, unless a later one is given.
    """
    if config.timestamp is not None:
        given = chain.head.timestamp if chain.ledger.anchor is None else config.timestamp
        chain.clock.set_time(max(chain.head.timestamp, given))


def start_mining(chain: Chain, config: ChainConfig) -> None:
    """Let a chain seal when the configuration says."""
    if not config.mining:
        chain.schedule.seal_on_request()
    elif config.block_time is not None:
        now = time.monotonic()
        chain.schedule.seal_every(config.block_time, now, mixed=config.mixed_mining)
    elif config.mixed_mining:
        raise InvalidConfig("--mixed-mining", "it needs --block-time")


def report_contracts(chain: Chain, expected: Genesis, contracts: str) -> None:
    """Log that a chain was created with other contracts than this version has."""
    if has_other_contracts(chain.genesis, expected):
        where = chain.blocks.path
        log.info(
            "%s was created with other %s than this version's, and keeps them", where, contracts
        )
