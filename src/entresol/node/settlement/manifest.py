"""What the data directory says of the L1 that its chain settles on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import InvalidConfig, MalformedValue
from entresol.l1.deployment import SettlementContracts
from entresol.node.chains import L1_FOLDER
from entresol.primitives.values import Address
from entresol.storage.directory import write_durably

if TYPE_CHECKING:
    from entresol.node.config.schema import ChainConfig

NOTE_FILE: Final = "settlement.json"


class SettlementManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Where a chain settles, other than on the development L1.

    It is written before a deployment, so that one that is interrupted can be gone on with.
    """

    l1_chain_id: int
    contracts: SettlementContracts
    first_nonce: int | None = None
    """The operator's nonce when the deployment began; none if the contracts were there before."""


class ManifestFile:
    """Keeps the note of one data directory.

    Remembers: the note, also if the chain is temporary. Persists: it, beside the chain.
    """

    def __init__(self, config: ChainConfig) -> None:
        directory = config.data_dir
        self.path = None if directory is None else Path(directory) / NOTE_FILE
        self.note = self._read()

    @property
    def is_development(self) -> bool:
        """Whether the chain of the directory settles on the development L1 in it."""
        return self.path is not None and (self.path.parent / L1_FOLDER).exists()

    def write(self, note: SettlementManifest) -> None:
        """Keep a note, in place of the one before."""
        if note == self.note:
            return
        self.note = note
        if self.path is None:
            return
        text = msgspec.json.format(msgspec.json.encode(note, enc_hook=str)) + b"\n"
        try:
            write_durably(self.path, text)
        except OSError as error:
            problem = f"{self.path} cannot be written: {error.strerror}"
            raise InvalidConfig("--data-dir", problem) from error

    def _read(self) -> SettlementManifest | None:
        if self.path is None or not self.path.exists():
            return None
        try:
            return msgspec.json.decode(
                self.path.read_bytes(), type=SettlementManifest, dec_hook=_parse
            )
        except (OSError, msgspec.DecodeError, MalformedValue) as error:
            raise InvalidConfig("--data-dir", f"{self.path} cannot be read: {error}") from error


def _parse(kind: type[Address], value: object) -> Address:
    return kind.parse(value)
