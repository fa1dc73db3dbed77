"""Headers of the remote against their hashes; of what else it says, what differs is a lie, and what has no proof is dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from entresol._native import keccak256, rlp_encode
from entresol.errors import MalformedValue, RemoteFailed
from entresol.features.fork import remote_values
from entresol.features.fork.errors import RemoteLied
from entresol.features.fork.remote_values import DescribedBlock, member
from entresol.primitives import rlp
from entresol.primitives.values import Address, Bloom, Data, Hash32, Nonce8

T = TypeVar("T")

_FIELDS: Final[Mapping[str, Callable[[object], bytes | int]]] = {
    "parentHash": Hash32.parse,
    "sha3Uncles": Hash32.parse,
    "miner": Address.parse,
    "stateRoot": Hash32.parse,
    "transactionsRoot": Hash32.parse,
    "receiptsRoot": Hash32.parse,
    "logsBloom": Bloom.parse,
    "difficulty": remote_values.balance,
    "number": remote_values.nonce,
    "gasLimit": remote_values.nonce,
    "gasUsed": remote_values.nonce,
    "timestamp": remote_values.nonce,
    "extraData": Data.parse,
    "mixHash": Hash32.parse,
    "nonce": Nonce8.parse,
}
"""The fields of every header, in the order of its encoding."""
_LATER: Final[Mapping[str, Callable[[object], bytes | int]]] = {
    "baseFeePerGas": remote_values.balance,
    "withdrawalsRoot": Hash32.parse,
    "blobGasUsed": remote_values.nonce,
    "excessBlobGas": remote_values.nonce,
    "parentBeaconBlockRoot": Hash32.parse,
    "requestsHash": Hash32.parse,
}
"""Members that hardforks have added: a header ends before the first that it does not have."""


class Told(NamedTuple):
    """The remote that responded, and to which method."""

    host: str
    method: str

    def lied(self, problem: str) -> RemoteLied:
        """Return the error of a false result."""
        return RemoteLied(self.host, self.method, problem)

    def read(self, decode: Callable[[], T]) -> T:
        """Return what a result says; one that nothing can be proven of is false."""
        try:
            return decode()
        except MalformedValue as error:
            raise self.lied(str(error)) from error

    def agreed(
        self, what: str, given: Mapping[str, Any], true: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the true members; raise if the remote has others, and drop what no proof covers."""
        for name, value in true.items():
            if name in given and not is_same(given[name], value):
                raise self.lied(f"{name} of {what} is {value}, and not {_short(given[name])}")
        return dict(true)


def is_same(given: Any, true: Any) -> bool:
    """Say whether JSON means what is true; members that are not looked at may be there, and digits have any case."""
    if isinstance(given, str) and isinstance(true, str):
        return given.lower() == true.lower() or _number(given) == _number(true) is not None
    if isinstance(given, list) and isinstance(true, list):
        return len(given) == len(true) and all(map(is_same, given, true))
    if isinstance(given, dict) and isinstance(true, dict):
        return all(name in given and is_same(given[name], value) for name, value in true.items())
    return bool(given == true)


def hex_of(data: bytes) -> str:
    """Return bytes as JSON has them."""
    return f"0x{data.hex()}"


def _number(text: str) -> int | None:
    try:
        return int(text, 16) if text.startswith("0x") else None
    except ValueError:
        return None


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


class HashedHeader(msgspec.Struct, frozen=True):
    """A header that was hashed: its members as JSON has them, its encoding and its hash."""

    values: dict[str, bytes | int]
    encoded: bytes
    hash: Hash32

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> HashedHeader:
        """Hash the header of a block; raise `MalformedValue` for what is not a header of Ethereum."""
        values = {name: member(fields, name, parse) for name, parse in _FIELDS.items()}
        for name, parse in _LATER.items():
            if fields.get(name) is None:
                break
            values[name] = member(fields, name, parse)
        encoded = rlp_encode([_item(value) for value in values.values()])
        return cls(values, encoded, Hash32(keccak256(encoded)))

    @property
    def number(self) -> int:
        """Its number."""
        return self.quantity("number")

    def quantity(self, name: str) -> int:
        """Return a number; one that the header does not have is zero."""
        return int(self.values.get(name, 0))

    def data(self, name: str) -> bytes:
        """Return bytes; those that the header does not have are none."""
        value = self.values.get(name, b"")
        assert isinstance(value, bytes)
        return value

    def json(self) -> dict[str, Any]:
        """Return its members, with its hash."""
        members = {
            name: hex(value) if isinstance(value, int) else f"0x{value.hex()}"
            for name, value in self.values.items()
        }
        return {"hash": str(self.hash), **members}


def check_header(host: str, block: DescribedBlock) -> None:
    """Raise `RemoteFailed` if the header of the anchor does not have its hash: nothing can be proven by it then."""
    if not has_hash(block):
        raise RemoteFailed(
            f"--fork-verify cannot check the remote {host}: the header of block {block.number} does not have "
            f"the hash {block.hash}: it is not a header of Ethereum, or false"
        )


def has_hash(block: DescribedBlock) -> bool:
    """Return whether the header of a block has its hash."""
    return hashed(block) is not None


def hashed(block: DescribedBlock) -> HashedHeader | None:
    """Return the header of a block; None if it does not have the hash that the remote says."""
    try:
        header = HashedHeader.of(remote_values.mapping(msgspec.json.decode(block.json)))
    except MalformedValue:
        return None
    return header if header.hash == block.hash and header.number == block.number else None


def _item(value: bytes | int) -> bytes:
    return rlp.encode_uint(value) if isinstance(value, int) else bytes(value)
