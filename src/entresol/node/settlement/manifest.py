"""The settlement manifest: which remote L1 and contracts the chain in a data directory settles on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.bounded_file import MAX_DIRECTORY_FILE_BYTES, read_file
from entresol.errors import InvalidConfig, MalformedValue
from entresol.features.fork.config.folders import L1_FOLDER
from entresol.l1.deployment import SettlementContracts
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, EtherPrice
from entresol.primitives.values import Address
from entresol.storage.database.directory import write_durably

if TYPE_CHECKING:
    from entresol.node.config.schema import ChainConfig

MANIFEST_FILE: Final = "settlement.json"


class RecordedToken(msgspec.Struct, frozen=True, kw_only=True):
    """The token that pays for gas on a chain, as it was when the chain was created."""

    address: Address
    name: str
    symbol: str
    decimals: int
    price: str
    """The price of ether in it, packed, since both of its numbers may be larger than those of JSON."""

    @classmethod
    def of(cls, token: BaseToken) -> Self | None:
        """Return what is recorded of a token; nothing of ether."""
        if token.is_ether:
            return None
        return cls(
            address=token.l1_address,
            name=token.name,
            symbol=token.symbol,
            decimals=token.decimals,
            price=token.ether_price.pack().hex(),
        )

    @classmethod
    def token_of(cls, recorded: Self | None) -> BaseToken:
        """Return the token of a record; without one it is ether."""
        if recorded is None:
            return ETHER_TOKEN
        return BaseToken(
            l1_address=recorded.address,
            name=recorded.name,
            symbol=recorded.symbol,
            decimals=recorded.decimals,
            ether_price=EtherPrice.unpack(bytes.fromhex(recorded.price)),
        )


class SettlementManifest(msgspec.Struct, frozen=True, kw_only=True):
    """The remote L1 that a chain settles on; there is none for the development L1.

    It is written before a deployment begins, so that an interrupted one can be resumed.
    """

    l1_chain_id: int
    contracts: SettlementContracts
    first_nonce: int | None = None
    """The operator's nonce when the deployment began; None if the contracts existed before."""
    creation_nonce: int | None = None
    """The operator's nonce that creates the chain's contract beside those of a Bridgehub that was there before."""
    deployment_block: int | None = None
    """An L1 block before which the contracts did not exist; None until they are deployed."""
    paid_in: RecordedToken | None = None
    """The base token, which pays for gas; None is ether."""

    @property
    def base_token(self) -> BaseToken:
        """The token that pays for gas."""
        return RecordedToken.token_of(self.paid_in)


class ManifestFile:
    """Reads and writes the manifest of one data directory. Persists: it, beside the chain."""

    def __init__(self, config: ChainConfig) -> None:
        directory = config.data_dir
        self.path = None if directory is None else Path(directory) / MANIFEST_FILE
        self.manifest = self._read()

    @property
    def has_development_l1(self) -> bool:
        """Whether the data directory contains a development L1."""
        return self.path is not None and (self.path.parent / L1_FOLDER).exists()

    def write(self, manifest: SettlementManifest) -> None:
        """Replace the manifest."""
        if manifest == self.manifest:
            return
        if self.path is not None:
            text = msgspec.json.format(encode_manifest(manifest)) + b"\n"
            try:
                write_durably(self.path, text)
            except OSError as error:
                problem = f"{self.path} cannot be written: {error.strerror}"
                raise InvalidConfig("--data-dir", problem) from error
        self.manifest = manifest

    def _read(self) -> SettlementManifest | None:
        if self.path is None or not self.path.exists():
            return None
        try:
            return parse_manifest(read_file(self.path, MAX_DIRECTORY_FILE_BYTES))
        except (OSError, msgspec.DecodeError, MalformedValue, ValueError) as error:
            raise InvalidConfig("--data-dir", f"{self.path} cannot be read: {error}") from error


def encode_manifest(manifest: SettlementManifest) -> bytes:
    """Return a manifest as JSON."""
    return msgspec.json.encode(manifest, enc_hook=str)


def parse_manifest(document: bytes) -> SettlementManifest:
    """Read what `encode_manifest` writes."""
    return msgspec.json.decode(document, type=SettlementManifest, dec_hook=_parse)


def _parse(kind: type[Address], value: object) -> Address:
    return kind.parse(value)
