"""The folders of a data directory, and which of them hold what a fork has read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from entresol.node.config.schema import ChainConfig, NodeConfig

L1_FOLDER: Final = "l1"
"""The folder of the development L1 in the data directory."""


def data_path(config: ChainConfig) -> Path | None:
    """Return the data directory that a chain is stored in; None if it is temporary."""
    return None if config.data_dir is None else Path(config.data_dir)


def chain_folders(config: NodeConfig) -> list[Path | None]:
    """Return the folders of the L1 and of each L2; of several chains each has one of its own."""
    path = data_path(config.chain)
    chains = max(len(config.chains), 1)
    if path is None:
        return [None] * (1 + chains)
    if chains == 1:
        return [path / L1_FOLDER, path]
    return [path / L1_FOLDER, *(path / str(chain.chain.chain_id) for chain in config.chains)]


def has_fork(folder: Path | None) -> bool:
    """Return whether the chain of a folder is a fork with its cache beside it."""
    if folder is None:
        return False
    # Only who asks for it needs the store.
    from entresol.storage.database.directory import FORK_FOLDER, FORMAT_FILE  # noqa: PLC0415

    return (folder / FORMAT_FILE).exists() and any((folder / FORK_FOLDER).glob("*.sqlite"))
