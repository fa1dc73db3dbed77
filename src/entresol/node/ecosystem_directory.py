"""The data directory of several chains: one lock, and which chains belong together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.bounded_file import MAX_DIRECTORY_FILE_BYTES, read_file
from entresol.errors import InvalidConfig, StoreForeign
from entresol.features.adding.records import added_at
from entresol.features.fork.config.folders import L1_FOLDER
from entresol.storage.database.directory import (
    FORMAT_FILE,
    LOCK_FILE,
    DirectoryLock,
    check_directory,
    has_only_reads,
    write_durably,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.chain.chain import Chain
    from entresol.node.config.schema import NodeConfig

CHAINS_FILE: Final = "chains.json"
_FLAG: Final = "--data-dir"


class StoredChains(msgspec.Struct, frozen=True, kw_only=True):
    """The L2s of a data directory, in the order in which its L1 has registered them.

    It is written before the first of their folders, so that an interrupted start can be completed.
    """

    chains: tuple[int, ...]
    identities: dict[str, str] = msgspec.field(default_factory=dict)
    """The identity of the genesis in each folder; empty until all of them exist."""

    @classmethod
    def at(cls, directory: Path) -> Self | None:
        """Return what a directory has; None if it is not one of several chains."""
        path = directory / CHAINS_FILE
        try:
            return msgspec.json.decode(read_file(path, MAX_DIRECTORY_FILE_BYTES), type=cls)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise InvalidConfig(_FLAG, f"{path} cannot be read: {error}") from error

    @property
    def flag(self) -> str:
        """The flag that opens them."""
        return f"--chains {','.join(map(str, self.chains))}"


class EcosystemDirectory:
    """The data directory of several chains, which one process at a time uses; that of one chain has a lock of its own.

    Remembers: which chains it has. Persists: that, before the first of them is created. Assumes: chains are opened only
    after it, and shown to `opened` before the next one is. Fails: with what has to be done about it; nothing in the
    directory has changed then.
    """

    def __init__(self, path: Path | None = None, lock: DirectoryLock | None = None) -> None:
        self._path = path or Path()
        self._lock = lock
        self._stored = (None if path is None else StoredChains.at(path)) or StoredChains(chains=())

    @classmethod
    def open(cls, config: NodeConfig, layer_twos: Sequence[NodeConfig]) -> Self:
        """Lock the directory of several chains, once everything in it is known to be usable."""
        check_layout(config, layer_twos)
        if config.chain.data_dir is None or len(layer_twos) == 1:
            return cls()
        path, ids = (
            Path(config.chain.data_dir),
            tuple(layer_two.chain.chain_id for layer_two in layer_twos),
        )
        _check_own(path)
        lock = DirectoryLock(path)
        try:
            directory = cls(path, lock)
            # Only now, so that whoever has locked all of it is named, and not one of its folders.
            directory._check_folders([*map(str, ids), *_l1_folder(config)])
            directory._write(msgspec.structs.replace(directory._stored, chains=ids))
        except BaseException:
            lock.close()
            raise
        return directory

    def opened(self, chain: Chain, folder: str | None = None) -> Chain:
        """Return a chain that was opened, by default that of an L2; reject one that was not created in this directory."""
        folder = folder or str(chain.rules.chain_id)
        found = chain.identity.hex()
        if self._stored.identities.get(folder, found) != found:
            raise InvalidConfig(
                _FLAG,
                f"{self._path / folder} has another chain than the one that was created here with the others in "
                f"{self._path}: restore all of them from one copy, or give a new directory",
            )
        return chain

    def complete(self, layer_twos: Iterable[Chain], layer_one: Chain | None) -> None:
        """Record which chains belong together, once all of them exist."""
        chains = {str(layer_two.rules.chain_id): layer_two for layer_two in layer_twos}
        if layer_one is not None:
            chains[L1_FOLDER] = self.opened(layer_one, L1_FOLDER)
        identities = {folder: chain.identity.hex() for folder, chain in chains.items()}
        self._write(msgspec.structs.replace(self._stored, identities=identities))

    def close(self) -> None:
        """Unlock the directory."""
        if self._lock is not None:
            self._lock.close()

    def _check_folders(self, folders: Iterable[str]) -> None:
        """Check everything before anything is created, so that no chain is without the others."""
        for folder in folders:
            is_new = check_directory(self._path / folder)
            if is_new and folder in self._stored.identities:
                raise InvalidConfig(
                    _FLAG,
                    f"{self._path / folder} is missing, and the other chains in {self._path} were created with it: "
                    "restore all of them from one copy, or give a new directory",
                )

    def _write(self, stored: StoredChains) -> None:
        if self._lock is None or stored == self._stored:
            return
        path = self._path / CHAINS_FILE
        try:
            write_durably(path, msgspec.json.format(msgspec.json.encode(stored)) + b"\n")
        except OSError as error:
            raise InvalidConfig(_FLAG, f"{path} cannot be written: {error.strerror}") from error
        self._stored = stored


def check_layout(config: NodeConfig, layer_twos: Sequence[NodeConfig]) -> None:
    """Reject a directory of one chain for several, one of several for one or for others, and a folder of several."""
    if config.chain.data_dir is None:
        return
    path = Path(config.chain.data_dir)
    around = StoredChains.at(path.absolute().parent)
    if around is not None and path.name in {L1_FOLDER, *map(str, around.chains)}:
        raise InvalidConfig(
            _FLAG,
            f"{path} is a folder of several chains with one L1: give {path.parent} and {around.flag}",
        )
    if any(path.name == str(added.chain_id) for added in added_at(path.absolute().parent)):
        raise InvalidConfig(
            _FLAG, f"{path} is a chain that was added to those in {path.parent}: give that"
        )
    if len(layer_twos) > 1 and (path / FORMAT_FILE).exists():
        raise InvalidConfig(
            "--chains", f"{path} has one chain, and its L1 knows no other; give a new directory"
        )
    found, ids = StoredChains.at(path), tuple(layer_two.chain.chain_id for layer_two in layer_twos)
    if found is not None and found.chains != ids:
        shown = ", ".join(map(str, found.chains))
        raise InvalidConfig(_FLAG, f"it has the chains {shown}, in this order: give {found.flag}")


def _check_own(path: Path) -> None:
    """Reject a directory with something else in it, as that of one chain does."""
    if not path.exists() or (path / CHAINS_FILE).exists():
        return
    if not path.is_dir():
        raise StoreForeign(path)
    names = {entry.name for entry in path.iterdir() if not has_only_reads(entry)}
    if names - {LOCK_FILE, f"{CHAINS_FILE}.new"}:
        raise StoreForeign(path)


def _l1_folder(config: NodeConfig) -> tuple[str, ...]:
    return (L1_FOLDER,) if config.l1.l1_url is None else ()
