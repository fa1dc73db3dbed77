"""Filter objects of `eth_getLogs` and `eth_newFilter`: addresses, topics and a block range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar

import msgspec

from entresol.chain.finality import BlockTag
from entresol.errors import InvalidFilter, MalformedValue, TooManyAlternatives
from entresol.errors.base import without_frames
from entresol.primitives.receipts import MAX_TOPICS
from entresol.primitives.values import Address, Hash32
from entresol.rpc.jsonrpc.method import Named
from entresol.rpc.types.block_id import block_number
from entresol.storage.log_index import LogQuery

BlockName: TypeAlias = int | BlockTag
_Value = TypeVar("_Value")

ANY_LOG: Final = LogQuery()

MAX_ALTERNATIVES: Final = 10_000
"""The most alternatives in one position of a filter, whatever is configured: more is not even read."""


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A query for logs, and its blocks: a range, or the one block with a given hash."""

    query: LogQuery = ANY_LOG
    from_block: BlockName | None = None
    to_block: BlockName | None = None
    block_hash: Hash32 | None = None

    def __post_init__(self) -> None:
        if self.block_hash is not None and not (self.from_block is None and self.to_block is None):
            raise InvalidFilter(
                "invalid filter: if blockHash is supplied fromBlock and toBlock must not be"
            )

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a filter object of decoded JSON; null is the same as absent, other keys are ignored."""
        fields = _object(value)
        return cls(
            query=_query(fields),
            from_block=_optional(fields, "fromBlock", _block),
            to_block=_optional(fields, "toBlock", _block),
            block_hash=_optional(fields, "blockHash", Hash32.parse),
        )


class FilterObject:
    """A log filter as a parameter; not a model, since its parts come in several forms."""

    __slots__ = ("wanted",)

    json_schema: ClassVar[dict[str, Any]] = {"type": "object"}
    names: ClassVar = Named.RANGE

    def __init__(self, wanted: LogFilter) -> None:
        self.wanted = wanted

    @classmethod
    def parse(cls, value: object) -> FilterObject:
        """Read the object."""
        return cls(LogFilter.parse(value))


def parse_query(value: object) -> LogQuery:
    """Read `address` and `topics` of a filter object, whatever else it has."""
    return _query(_object(value))


class SubscriptionOptions:
    """The options of a subscription as a parameter: a filter for `logs`, a boolean for pending transactions.

    They are read here, where a thread may do it, but rejected only by the kind of subscription that has such
    options: clients send others with empty ones.
    """

    __slots__ = ("_query", "_value")

    json_schema: ClassVar[dict[str, Any]] = {"type": ["object", "boolean"]}

    def __init__(self, value: object) -> None:
        self._value = value
        self._query: LogQuery | MalformedValue | InvalidFilter
        try:
            self._query = parse_query(value)
        except (MalformedValue, InvalidFilter) as error:
            self._query = without_frames(error)

    @classmethod
    def parse(cls, value: object) -> SubscriptionOptions:
        """Read the options."""
        return cls(value)

    @property
    def query(self) -> LogQuery:
        """The `address` and `topics` of a filter object, whatever else it has."""
        if isinstance(self._query, LogQuery):
            return self._query
        raise self._query

    @property
    def full(self) -> bool:
        """Whether pending transactions are sent in full."""
        if isinstance(self._value, bool):
            return self._value
        raise MalformedValue("should be true or false, for full transactions or hashes")


def _object(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise MalformedValue("a filter is an object")
    return value


def _query(fields: dict[str, object]) -> LogQuery:
    addresses = fields.get("address")
    return LogQuery(
        addresses=frozenset[bytes](_one_or_many(addresses, Address.parse, "address")),
        topics=_topics(fields.get("topics")),
    )


def _topics(value: object) -> tuple[frozenset[bytes], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedValue("topics are an array", field="topics")
    if len(value) > MAX_TOPICS:
        raise InvalidFilter("More than four topics in filter")
    return tuple(
        frozenset[bytes](_alternatives(wanted, f"topics[{index}]"))
        for index, wanted in enumerate(value)
    )


def _alternatives(value: object, path: str) -> list[Hash32]:
    """Return the topics of one position; a null among several makes the position open."""
    if isinstance(value, list) and None in value:
        _one_or_many([item for item in value if item is not None], Hash32.parse, path)
        return []
    return _one_or_many(value, Hash32.parse, path)


def _one_or_many(value: object, read: Callable[[object], _Value], path: str) -> list[_Value]:
    if value is None:
        return []
    if isinstance(value, list):
        if len(value) > MAX_ALTERNATIVES:
            raise TooManyAlternatives(path, len(value), MAX_ALTERNATIVES)
        return [_at(f"{path}[{index}]", read, item) for index, item in enumerate(value)]
    return [_at(path, read, value)]


def _optional(
    fields: dict[str, object], path: str, read: Callable[[object], _Value]
) -> _Value | None:
    value = fields.get(path)
    return None if value is None else _at(path, read, value)


def _at(path: str, read: Callable[[object], _Value], value: object) -> _Value:
    try:
        return read(value)
    except MalformedValue as error:
        raise MalformedValue(error.problem, field=path) from error


def _block(value: object) -> BlockName:
    if isinstance(value, str) and value in _TAGS:
        return BlockTag(value)
    return block_number(value)


_TAGS: Final = frozenset(BlockTag)
