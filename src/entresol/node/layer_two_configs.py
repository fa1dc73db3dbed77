"""The settings of each L2 of a node, and their folders in its data directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import InvalidConfig
from entresol.features.cluster.settings import ClusterConfig
from entresol.node.genesis_config import chain_id_of
from entresol.node.opening.development_keys import MAX_CHAINS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.node.config.schema import NodeConfig

MAX_PORT: Final = 65_535


def layer_two_configs(config: NodeConfig) -> tuple[NodeConfig, ...]:
    """Return the settings of each L2 of a node; of most nodes there is one, with those of the node.

    Several L2s have folders of their own in the data directory, beside that of the L1.
    """
    flag = config.ecosystem.chains
    if flag is not None and config.chains:
        raise InvalidConfig(
            "--chains", "the configuration file has [[chains]]; give one of the two"
        )
    if config.chains and config.of(ClusterConfig).cluster is not None:
        raise InvalidConfig(
            "--cluster", "a cluster has one chain: give its settings without [[chains]]"
        )
    chains = config.chains or _of_flag(config, flag or ())
    if len(chains) < 2:
        return chains or (config,)
    _check(config, chains)
    directory = config.chain.data_dir
    if directory is None:
        return chains
    return tuple(_in_folder(chain, Path(directory)) for chain in chains)


def _of_flag(config: NodeConfig, items: Sequence[str]) -> tuple[NodeConfig, ...]:
    first_id, first_port = config.chain.chain_id, config.server.port
    if len(items) == 1 and ":" not in items[0]:
        count = _number(items[0], MAX_CHAINS, "chains")
        pairs = [(first_id + index, _following(first_port, index)) for index in range(count)]
    else:
        pairs = [
            _id_and_port(item, _following(first_port, index)) for index, item in enumerate(items)
        ]
    return tuple(
        msgspec.structs.replace(
            config,
            chain=msgspec.structs.replace(config.chain, chain_id=chain_id),
            server=msgspec.structs.replace(config.server, port=port),
        )
        for chain_id, port in pairs
    )


def _id_and_port(item: str, default: int) -> tuple[int, int]:
    chain_id, colon, port = item.partition(":")
    given = _number(port, MAX_PORT, "ports", 0) if colon else default
    return _number(chain_id, 2**64 - 1, "ids"), given


def _number(text: str, most: int, what: str, least: int = 1) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and least <= int(digits) <= most:
        return int(digits)
    raise InvalidConfig("--chains", f"{what} are numbers from {least} to {most:,}, got {text!r}")


def _following(port: int, index: int) -> int:
    # Zero is any free one.
    return port + index if port else 0


def _check(config: NodeConfig, chains: Sequence[NodeConfig]) -> None:
    if len(chains) > MAX_CHAINS:
        raise InvalidConfig("--chains", f"at most {MAX_CHAINS} chains, got {len(chains)}")
    if config.of(ClusterConfig).cluster is not None:
        raise InvalidConfig("--chains", "a cluster has one chain; run a cluster for each")
    if not config.l1.l1:
        raise InvalidConfig("--chains", "several chains need an L1; leave out --no-l1")
    for chain in chains:
        # Chains are told apart by their ids before their files are read.
        if (found := chain_id_of(chain.chain)) != chain.chain.chain_id:
            given = chain.chain.chain_id
            raise InvalidConfig("--chains", f"chain {given} has a genesis file of chain {found}")
    ids = [(chain.chain.chain_id, "another chain") for chain in chains]
    ports = [(chain.server.port, "another chain") for chain in chains]
    if config.l1.l1_url is None:
        ids.insert(0, (config.l1.l1_chain_id, "the L1"))
        ports = [
            (port or 0, "the L1") for port in (config.l1.l1_port, config.l1.l1_extra_port)
        ] + ports
    _check_distinct("chain id", ids)
    _check_distinct("port", [port for port in ports if port[0]])
    sockets = [chain.server.ipc for chain in chains if chain.server.ipc is not None]
    if len(set(sockets)) != len(sockets):
        raise InvalidConfig("--ipc", "each chain needs a path of its own: give it in [[chains]]")


def _check_distinct(what: str, values: Sequence[tuple[int, str]]) -> None:
    owners: dict[int, str] = {}
    for value, owner in values:
        if value in owners:
            raise InvalidConfig("--chains", f"{owners[value]} has the {what} {value}, too")
        owners[value] = owner


def _in_folder(config: NodeConfig, directory: Path) -> NodeConfig:
    folder = str(directory / str(config.chain.chain_id))
    return msgspec.structs.replace(
        config, chain=msgspec.structs.replace(config.chain, data_dir=folder)
    )
