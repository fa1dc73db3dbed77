"""The L2s that were added to the chains of a data directory, so that the next start has them, too."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.bounded_file import MAX_DIRECTORY_FILE_BYTES, read_file
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.errors import InvalidConfig, MalformedValue
from entresol.features.adding.errors import ChainNotAdded
from entresol.node.config.schema import EcosystemConfig
from entresol.node.settlement.manifest import RecordedToken
from entresol.node.settlement.settlement_layer import development_contracts
from entresol.primitives.base_token import BaseToken
from entresol.primitives.values import Address
from entresol.storage.database.directory import FORMAT_FILE, write_durably

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.config.schema import NodeConfig

ADDED_FILE: Final = "added.json"
REVERTED: Final = "L1 was reverted meanwhile: send the request again"


class AddedChain(msgspec.Struct, frozen=True, kw_only=True):
    """An L2 that was added: what its settings do not say, and those that are not the node's."""

    chain_id: int
    port: int
    """The port of its settings: zero is any free one."""
    index: int
    """Its number among the L2s of the node, which says who its operator is."""
    contract: Address
    """The address of its contract on L1."""
    paid_in: RecordedToken | None = None
    """The token that pays for gas; None for ether."""

    @property
    def base_token(self) -> BaseToken:
        """The token that pays for gas."""
        return RecordedToken.token_of(self.paid_in)

    def config(self, config: NodeConfig) -> NodeConfig:
        """Return its settings: those of the node, but a genesis of its own, in which nobody has funds."""
        token, directory = self.base_token, config.chain.data_dir
        chain = msgspec.structs.replace(
            config.chain,
            chain_id=self.chain_id,
            data_dir=None if directory is None else str(Path(directory) / str(self.chain_id)),
            balance=0,
            genesis=None,
            init=None,
            number=None,
            base_token=None if token.is_ether else str(token.l1_address),
            base_token_ratio=None,
            base_token_decimals=None,
        )
        server = msgspec.structs.replace(config.server, port=self.port, ipc=None)
        alone = EcosystemConfig()
        return msgspec.structs.replace(
            config, chain=chain, server=server, ecosystem=alone, chains=()
        )

    @property
    def contracts(self) -> SettlementContracts:
        """Its contracts on the development L1."""
        return development_contracts().of_another_chain(self.contract)

    def is_registered(self, l1_chain: Chain) -> bool:
        """Return whether the Bridgehub has it, which is the last step of its registration."""
        chains: dict[Word, Value] = {self.chain_id: self.contract}
        ((slot, value),) = storage_of(artifact("Bridgehub"), {"getZKChain": chains}).items()
        return l1_chain.latest.slot(development_contracts().bridgehub, slot) == value

    def check_registered(self, l1_chain: Chain) -> None:
        """Raise `ChainNotAdded` if the Bridgehub does not have it any more."""
        if not self.is_registered(l1_chain):
            raise ChainNotAdded(REVERTED)


class AddedChains:
    """The L2s that were added to a node.

    Remembers: them. Persists: them, if the node has a data directory, each before its folder and its first transaction.
    Assumes: the directory is locked. Fails: with what cannot be read or written.
    """

    def __init__(self, config: NodeConfig) -> None:
        self._path = None if config.chain.data_dir is None else Path(config.chain.data_dir)
        self.chains = added_chains(config)

    def folder(self, chain_id: int) -> Path | None:
        """Return the folder of a chain; None if the node has no data directory."""
        return None if self._path is None else self._path / str(chain_id)

    def add(self, chain: AddedChain) -> None:
        """Remember a chain before it is created."""
        folder = self.folder(chain.chain_id)
        if folder is not None and folder.exists():
            raise ChainNotAdded(f"{folder} exists: give another id, or move it away")
        self._write((*self.chains, chain))

    def forget(self, chain: AddedChain) -> None:
        """Forget a chain that L1 has not registered, with its folder, in which there is nothing but a genesis."""
        folder = self.folder(chain.chain_id)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        self._write(tuple(known for known in self.chains if known != chain))

    def complete(self, l1_chain: Chain) -> Sequence[AddedChain]:
        """Return the chains that L1 has registered, and forget those whose addition was interrupted before."""
        for chain in self.chains:
            if not chain.is_registered(l1_chain):
                self.forget(chain)
                continue
            folder = self.folder(chain.chain_id)
            if folder is not None and not (folder / FORMAT_FILE).exists():
                raise InvalidConfig(
                    "--data-dir",
                    f"{folder} is missing, and its L1 has the chain: restore all of them from one copy",
                )
        return self.chains

    def _write(self, chains: tuple[AddedChain, ...]) -> None:
        if self._path is not None:
            path = self._path / ADDED_FILE
            try:
                write_durably(path, msgspec.json.format(msgspec.json.encode(chains, enc_hook=str)))
            except OSError as error:
                raise ChainNotAdded(f"{path} cannot be written: {error.strerror}") from error
        self.chains = chains


def added_chains(config: NodeConfig) -> tuple[AddedChain, ...]:
    """Return the L2s that were added to the chains of a data directory, if L1 has registered them or not."""
    if config.chain.data_dir is None:
        return ()
    return added_at(Path(config.chain.data_dir))


def added_at(directory: Path) -> tuple[AddedChain, ...]:
    """Return the L2s that were added to the chains of a directory."""
    path = directory / ADDED_FILE
    try:
        return msgspec.json.decode(
            read_file(path, MAX_DIRECTORY_FILE_BYTES),
            type=tuple[AddedChain, ...],
            dec_hook=_parse_address,
        )
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, msgspec.DecodeError, MalformedValue) as error:
        raise InvalidConfig("--data-dir", f"{path} cannot be read: {error}") from error


def _parse_address(_kind: type, value: str) -> Address:
    return Address.parse(value)
