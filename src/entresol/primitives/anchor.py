"""The anchor of a fork: the block of a remote chain on which it stands, as the remote describes it."""

from __future__ import annotations

from typing import Any, Final, Self

import msgspec

from entresol.errors import MalformedValue
from entresol.primitives.headers import EMPTY_TRIE, FIELD_COUNT, FIELDS, Header
from entresol.primitives.values import FixedBytes, Hash32

INITIAL_BASE_FEE: Final = 10**9
"""The base fee of a block that has none, which the blocks above it continue from."""

_BATCH: Final = b'"l1BatchNumber"'
_LARGEST_64: Final = 2**64 - 1
_LATEST: Final = 2**63 - 1
_MAX_DIGITS: Final = 80
_MAX_EXTRA_DATA: Final = 64 * 1024


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """A block of a remote chain, known by the hash that the remote gives; nothing of it is hashed here."""

    chain_id: int
    """The id of the remote chain; that of the fork may be another."""
    number: int
    hash: Hash32
    header: Header
    """The header, which blocks above need."""
    json: bytes
    """The block as the remote returned it."""

    @classmethod
    def of_json(cls, chain_id: int, json: bytes) -> Self:
        """Read a block; raise `MalformedValue` if it has no number or no hash, and for nothing else that it has."""
        header = header_of_json(json)
        assert header.given_hash is not None
        return cls(
            chain_id=chain_id,
            number=header.number,
            hash=header.given_hash,
            header=header,
            json=json,
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Decode what `encode` writes."""
        try:
            chain_id, json = _decoder.decode(data)
        except msgspec.DecodeError as error:
            raise MalformedValue(f"an anchor is not readable: {error}") from error
        return cls.of_json(chain_id, json)

    def encode(self) -> bytes:
        """Return the chain id and the block, in MessagePack."""
        return msgspec.msgpack.encode((self.chain_id, bytes(self.json)))

    @property
    def may_have_foreign_code(self) -> bool:
        """Whether its chain may have EraVM code: only blocks of chains of the ZK Stack have batches."""
        return _BATCH in self.json

    def is_same(self, other: Anchor) -> bool:
        """Return whether both are the same block; remotes may describe one block differently."""
        return (self.chain_id, self.hash) == (other.chain_id, other.hash)

    def __str__(self) -> str:
        return f"block {self.number} ({self.hash}) of chain {self.chain_id}"


_decoder: Final = msgspec.msgpack.Decoder(tuple[int, bytes])


def header_of_json(json: bytes) -> Header:
    """Read the header of a remote block, with the hash given; a field that is missing or has another form is the default."""
    try:
        block = msgspec.json.decode(json)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedValue(f"a remote block is not readable: {error}") from error
    if not isinstance(block, dict):
        raise MalformedValue("a remote block is an object")
    return header_of_block(block)


def header_of_block(block: dict[str, Any]) -> Header:
    """Read the header of a remote block that is decoded already."""
    number = _number(block, "number", None)
    block_hash = _fixed(block, "hash", Hash32, None)
    if number is None or block_hash is None:
        missing = "number" if number is None else "hash"
        raise MalformedValue(f"a remote block has a {missing}, got {block.get(missing)!r}"[:200])
    fields = {
        name: _read(block, field, kind, _default(kind))
        for name, field, kind in FIELDS[:FIELD_COUNT]
    }
    # Later blocks have to be later.
    fields["timestamp"] = min(fields["timestamp"], _LATEST)
    fields["base_fee_per_gas"] = _number(block, "baseFeePerGas", INITIAL_BASE_FEE)
    return Header(**fields, given_hash=block_hash, **_later(block))


def _later(block: dict[str, Any]) -> dict[str, Any]:
    """Return the fields after London; one that is missing before others that are there has its default."""
    found = {name: _read(block, field, kind, None) for name, field, kind in FIELDS[FIELD_COUNT:]}
    defaults = (EMPTY_TRIE, 0, 0, Hash32.zero())
    last = max((at for at, value in enumerate(found.values()) if value is not None), default=-1)
    for (name, value), default in list(zip(found.items(), defaults, strict=False))[: max(last, 0)]:
        found[name] = default if value is None else value
    return found


def _default(kind: type[FixedBytes] | int | None) -> object:
    return 0 if kind is None or isinstance(kind, int) else kind.zero()


def _read(
    block: dict[str, Any], field: str, kind: type[FixedBytes] | int | None, default: object
) -> Any:
    if kind is None:
        return _data(block, field)
    if isinstance(kind, int):
        return _number(block, field, default, 2**kind - 1)
    return _fixed(block, field, kind, default)


def _number(block: dict[str, Any], name: str, default: Any, largest: int = _LARGEST_64) -> Any:
    """Return a number, which may be hexadecimal, decimal or a JSON number; at most `largest`."""
    value = block.get(name)
    if isinstance(value, str) and len(value) <= _MAX_DIGITS:
        try:
            value = int(value, 16 if value.startswith("0x") else 10)
        except ValueError:
            return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return default
    return min(value, largest)


def _fixed(block: dict[str, Any], name: str, kind: type[FixedBytes], default: Any) -> Any:
    value = block.get(name)
    try:
        return kind.parse(value) if isinstance(value, str) else default
    except MalformedValue:
        return default


def _data(block: dict[str, Any], name: str) -> bytes:
    value = block.get(name)
    if not isinstance(value, str) or not value.startswith("0x") or len(value) > _MAX_EXTRA_DATA:
        return b""
    try:
        return bytes.fromhex(value[2:])
    except ValueError:
        return b""
