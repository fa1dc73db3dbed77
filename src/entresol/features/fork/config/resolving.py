"""From the configuration to what each fork is told: names become URLs, and impossible combinations are rejected."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import InvalidConfig, MalformedValue
from entresol.features.cluster.settings import ClusterConfig
from entresol.features.fork.config.endpoints import parse_headers, resolve_urls
from entresol.features.fork.config.folders import chain_folders, has_fork
from entresol.features.fork.config.fork_settings import ForkSettings
from entresol.features.fork.settings import ForkConfig
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from entresol.node.config.schema import NodeConfig

_ANCHORS: Final = ("fork_block_number", "fork_block_hash", "fork_transaction_hash")
_OF_A_REMOTE: Final = (*_ANCHORS, "fork_chain_id", "fork_header", "fork_verify")
"""Settings that mean nothing without a remote."""


class CachePlace(NamedTuple):
    """Where the cache of a fork is."""

    path: Path | None
    """A directory, or a file; None is the directory of the user."""
    max_bytes: int
    is_on_disk: bool = True


class PlannedFork(NamedTuple):
    """A fork that the configuration describes."""

    settings: ForkSettings
    cache: CachePlace


class PlannedForks(NamedTuple):
    """The layers that are forks; None for one that is not."""

    l2: PlannedFork | None = None
    """The one chain of `entresol anvil`."""
    l1: PlannedFork | None = None
    chains: tuple[PlannedFork | None, ...] = ()
    """The forks of the tables `[[chains]]`, in place of `l2`."""

    def __bool__(self) -> bool:
        return any(fork is not None for fork in (self.l2, self.l1, *self.chains))


def planned_forks(
    config: NodeConfig, environment: Mapping[str, str] | None = None, folder: Path | None = None
) -> PlannedForks:
    """Return the forks of a configuration; names are looked up in an environment, and from a folder on."""
    variables = os.environ if environment is None else environment
    place = folder or Path.cwd()
    l1_folder, *folders = chain_folders(config)
    l1 = _planned(_Layer(config, "l1_", l1_folder), variables, place)
    l2_folder = None if config.chains else folders[0]
    l2 = _planned(_Layer(config, "", l2_folder), variables, place, is_alone=l1 is None)
    chains = tuple(
        _planned(_Layer(chain, "", stored), variables, place)
        for chain, stored in zip(config.chains, folders, strict=False)
    )
    planned = PlannedForks(l2, l1, chains)
    if planned:
        for flag, problem in (
            *_conflicts(config),
            *_l2_conflicts(config, l2),
            *_chain_conflicts(config, chains),
            *_l1_conflicts(config, l1),
        ):
            raise InvalidConfig(flag, problem)
    elif config.of(ForkConfig).offline or config.of(ForkConfig, "l1_").offline:
        raise InvalidConfig(
            "--offline", "it needs a fork: --fork-cache FILE, --fork-url, or --data-dir with one"
        )
    elif config.of(ForkConfig).fork_cache is not None:
        raise InvalidConfig("--fork-cache", "it needs --fork-url, or --offline")
    return planned


class _Layer:
    """The fork of one layer, and the names of its settings for errors."""

    def __init__(self, config: NodeConfig, prefix: str, folder: Path | None) -> None:
        self.folder = folder
        """Where the chain is stored."""
        self.flag_prefix = f"--{prefix.replace('_', '-')}"
        self.fork = config.of(ForkConfig, prefix)
        is_as_l2 = bool(prefix) and self.fork.fork_cache == config.of(ForkConfig).fork_cache
        self.own_cache = None if is_as_l2 else self.fork.fork_cache
        """The cache that is named for this layer alone."""
        self.is_named_by_client = f"{prefix}fork_url" in config.urls_of_clients

    def flag(self, name: str) -> str:
        return self.flag_prefix + name.replace("_", "-")

    def given(self, names: tuple[str, ...]) -> list[str]:
        return [self.flag(name) for name in names if _is_set(getattr(self.fork, name))]


def _is_set(value: object) -> bool:
    return value is not None and value is not False and value != ()


def _planned(
    layer: _Layer, environment: Mapping[str, str], folder: Path, *, is_alone: bool = False
) -> PlannedFork | None:
    fork = layer.fork
    urls, pinned = resolve_urls(
        *(fork.fork_url, layer.flag("fork_url"), environment, folder), is_offline=fork.offline
    )
    if not fork.fork_url and not _is_recorded(layer, is_alone=is_alone):
        for flag in layer.given(_OF_A_REMOTE):
            raise InvalidConfig(flag, f"it needs {layer.flag('fork_url')}, or --offline")
        return None
    _check_anchor(layer, pinned)
    settings = ForkSettings(
        urls=urls,
        headers=parse_headers(fork.fork_header, layer.flag("fork_header")),
        block_number=pinned if fork.fork_block_number is None else fork.fork_block_number,
        block_hash=_hash(layer, "fork_block_hash"),
        transaction_hash=_hash(layer, "fork_transaction_hash"),
        chain_id=fork.fork_chain_id,
        retries=fork.fork_retries,
        timeout=fork.fork_timeout,
        backoff=fork.fork_retry_backoff,
        compute_units_per_second=None if fork.no_rate_limit else fork.compute_units_per_second,
        by_number=fork.fork_state_by_number,
        verify=fork.fork_verify,
        is_offline=fork.offline,
        flag_prefix=layer.flag_prefix,
        is_named_by_client=layer.is_named_by_client,
    )
    if fork.offline and fork.no_storage_caching:
        problem = "it needs the cache, which --no-storage-caching disables"
        raise InvalidConfig(layer.flag("offline"), problem)
    cache = None if fork.fork_cache is None else Path(fork.fork_cache)
    place = CachePlace(cache, fork.fork_cache_size, not fork.no_storage_caching)
    return PlannedFork(settings, place)


def _is_recorded(layer: _Layer, *, is_alone: bool) -> bool:
    """Return whether a fork without URL is described: one that a cache has, which something selects.

    A directory selects one only if no other layer is a fork, which may have its cache there, too. A chain on disk that
    is one names it.
    """
    if not layer.fork.offline:
        return False
    if has_fork(layer.folder):
        return True
    cache = layer.own_cache
    if cache is not None and (is_alone or not Path(cache).is_dir()):
        return True
    selecting = ("fork_chain_id", *_ANCHORS)
    return any(getattr(layer.fork, name) is not None for name in selecting)


def _check_anchor(layer: _Layer, pinned: int | None) -> None:
    flags = layer.given(_ANCHORS)
    if pinned is not None:
        flags.append(f"{layer.flag('fork_url')} with @{pinned}")
    if len(flags) > 1:
        raise InvalidConfig(flags[0], f"it cannot be combined with {flags[1]}")
    if layer.fork.fork_chain_id is None or layer.fork.offline:
        return
    number = layer.fork.fork_block_number if pinned is None else pinned
    is_pinned = layer.fork.fork_block_hash is not None or (number is not None and number >= 0)
    if not is_pinned:
        needed = f"{layer.flag('fork_block_number')}, which may not be negative"
        raise InvalidConfig(layer.flag("fork_chain_id"), f"it needs {needed}")


def _hash(layer: _Layer, name: str) -> Hash32 | None:
    text = getattr(layer.fork, name)
    try:
        return None if text is None else Hash32.parse(text)
    except MalformedValue as error:
        raise InvalidConfig(layer.flag(name), error.problem) from error


def _conflicts(config: NodeConfig) -> Iterator[tuple[str, str]]:
    if config.of(ClusterConfig).cluster is not None:
        yield "--cluster", "the nodes of a cluster share one chain, which cannot be a fork"


def _l2_conflicts(config: NodeConfig, fork: PlannedFork | None) -> Iterator[tuple[str, str]]:
    if fork is None:
        return
    if config.chains:
        yield (
            "--fork-url",
            "the configuration file has [[chains]]; give each of them its own fork_url",
        )
    if config.ecosystem.chains is not None:
        yield (
            "--chains",
            "give each chain its own fork_url, in a table [[chains]] of a configuration file",
        )
    chain = config.chain
    own = {"--genesis": chain.genesis, "--init": chain.init, "--number": chain.number}
    for flag, value in own.items():
        if value is not None:
            yield flag, "a fork starts from a block of its remote; leave out --fork-url"


def _chain_conflicts(
    config: NodeConfig, forks: Sequence[PlannedFork | None]
) -> Iterator[tuple[str, str]]:
    for chain, fork in zip(config.chains, forks, strict=True):
        yield from _l2_conflicts(chain, fork)
        is_named = "chain_id" in chain.given or len(forks) == 1
        if fork is not None and config.chain.data_dir is not None and not is_named:
            yield (
                "--data-dir",
                "each of several chains that is a fork needs its chain_id: its folder has that name",
            )


def _l1_conflicts(config: NodeConfig, fork: PlannedFork | None) -> Iterator[tuple[str, str]]:
    if fork is None:
        return
    if not config.l1.l1:
        yield "--no-l1", "without an L1 there is none to fork; leave out --l1-fork-url"
    if config.l1.l1_url is not None:
        yield "--l1-url", "the L1 is either a remote one or a fork; leave out --l1-fork-url"
    own = {"--l1-init": config.l1.l1_init, "--l1-number": config.l1_blocks.l1_number}
    for flag, value in own.items():
        if value is not None:
            yield flag, "a fork starts from a block of its remote; leave out --l1-fork-url"
