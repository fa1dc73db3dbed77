"""Block identifiers: a number, a tag or a hash; and plain values that name something of a chain's history."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias

import msgspec

from entresol.chain.finality import BlockTag
from entresol.errors import MalformedValue
from entresol.primitives.values import Hash32, Quantity, excerpt
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.types.number import Number

_NUMBER_SCHEMA: Final = {
    "type": ["string", "integer"],
    "pattern": "^((0x)?[0-9a-fA-F]{1,20}|[a-z][a-z0-9_]*)$",
    "minimum": 0,
}
_HASH_SCHEMA: Final = {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{64}$"}


class BlockNumber:
    """A block by number or by tag; exactly one of the two is set."""

    __slots__ = ("block_hash", "number", "require_canonical", "tag")

    json_schema: ClassVar[dict[str, Any]] = _NUMBER_SCHEMA
    names: ClassVar = Named.BLOCK

    # Tags are so frequent that there is one object for each.
    _by_tag: ClassVar[dict[str, Self]] = {}

    def __init__(
        self,
        *,
        number: int | None = None,
        tag: BlockTag | None = None,
        block_hash: Hash32 | None = None,
        require_canonical: bool = False,
    ) -> None:
        self.number = number
        self.tag = tag
        self.block_hash = block_hash
        self.require_canonical = require_canonical

    @property
    def is_fixed(self) -> bool:
        """Whether it always names the same block, unlike a tag."""
        return self.tag is None

    @classmethod
    def at(cls, number: int | None) -> Self:
        """Return a block by number, or the latest one."""
        return cls._by_tag["latest"] if number is None else cls(number=number)

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a tag or a number in any format; subclasses accept more."""
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise MalformedValue("a block is a number or a tag")
        tagged = cls._by_tag.get(value) if isinstance(value, str) else None
        if tagged is not None:
            return tagged
        try:
            return cls(number=block_number(value))
        except MalformedValue:
            raise MalformedValue(f"not a block number or tag: {_quoted(value)}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockNumber) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        if self.number is not None:
            return hex(self.number)
        return str(self.tag if self.block_hash is None else self.block_hash)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _key(self) -> tuple[object, ...]:
        return self.number, self.tag, self.block_hash, self.require_canonical


class BlockId(BlockNumber):
    """A block by number, tag or hash, or by an object with one of them (EIP-1898)."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, Any]] = {
        "anyOf": [
            _NUMBER_SCHEMA,
            _HASH_SCHEMA,
            {
                "type": "object",
                "properties": {"blockNumber": _NUMBER_SCHEMA},
                "required": ["blockNumber"],
            },
            {
                "type": "object",
                "properties": {"blockHash": _HASH_SCHEMA, "requireCanonical": {"type": "boolean"}},
                "required": ["blockHash"],
            },
        ]
    }

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a number, a tag, 32 bytes of hash, `{blockNumber}` or `{blockHash, requireCanonical}`."""
        if isinstance(value, dict):
            return cls._parse_object(value)
        if (
            isinstance(value, str)
            and 64 <= len(value) <= 66
            and len(value.removeprefix("0x")) == 64
        ):
            return cls(block_hash=Hash32.parse(value))
        return super().parse(value)

    @classmethod
    def _parse_object(cls, value: dict[str, object]) -> Self:
        number, block_hash = value.get("blockNumber"), value.get("blockHash")
        if (number is None) == (block_hash is None):
            raise MalformedValue("give either blockNumber or blockHash")
        if number is not None:
            return cls._parse_number(number)
        canonical = value.get("requireCanonical")
        if not isinstance(canonical, bool | None):
            raise MalformedValue("should be true or false", field="requireCanonical")
        try:
            named = Hash32.parse(block_hash)
        except MalformedValue as error:
            raise MalformedValue(error.problem, field="blockHash") from None
        return cls(block_hash=named, require_canonical=bool(canonical))

    @classmethod
    def _parse_number(cls, number: object) -> Self:
        try:
            plain = BlockNumber.parse(number)
        except MalformedValue as error:
            raise MalformedValue(error.problem, field="blockNumber") from None
        return cls(number=plain.number, tag=plain.tag)


for _kind in (BlockNumber, BlockId):
    _kind._by_tag = {str(tag): _kind(tag=tag) for tag in BlockTag}  # noqa: SLF001

LATEST: Final = BlockId.parse("latest")
PENDING: Final = BlockId.parse("pending")
EARLIEST: Final = BlockId.parse("earliest")


def block_number(value: object) -> int:
    """Read the number of a block: a JSON integer, hex digits, or decimal digits without `0x`."""
    if value == "0x":
        raise MalformedValue("a number has digits")
    return int(Number.parse(value))


def _quoted(value: str | int) -> str:
    return msgspec.json.encode(excerpt(value) if isinstance(value, str) else value).decode()


BlockHash: TypeAlias = Annotated[Hash32, Named.BLOCK_HASH]
TransactionHash: TypeAlias = Annotated[Hash32, Named.TRANSACTION]
BlockHeight: TypeAlias = Annotated[Number, Named.NUMBER]
FilterId: TypeAlias = Annotated[Quantity, Named.FILTER]
