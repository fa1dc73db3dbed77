"""What a client asks for when it asks for logs: the filter object, its range and its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol, Self, TypeAlias, TypeVar

import msgspec

from entresol.chain.finality import BlockTag
from entresol.errors import (
    HashAndRange,
    MalformedValue,
    TooManyAlternatives,
    TooManyBlocks,
    TooManyResults,
    TooManyTopics,
    UnknownBlock,
)
from entresol.primitives.logs import MAX_TOPICS
from entresol.primitives.values import Address, Hash32, Quantity64
from entresol.rpc.cache.block_logs import BlockLogs
from entresol.rpc.jsonrpc.cooperative import cooperatively
from entresol.rpc.jsonrpc.offload import POLICY
from entresol.storage.log_index import LogQuery

BlockName: TypeAlias = int | BlockTag
_Value = TypeVar("_Value")

ANY_LOG: Final = LogQuery()

MOST_ALTERNATIVES: Final = 10_000
"""What a filter names in one place at most, whatever is allowed: more is not even read."""


class Head(Protocol):
    """Where a chain ends, and which of its blocks the tags name."""

    @property
    def number(self) -> int:
        """The number of the last block."""

    def resolve(self, block: int | BlockTag) -> int:
        """Return the number of a block; that of the pending one follows the head's."""


class BlockHashes(Protocol):
    """Blocks by their hash."""

    def block_number(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash."""


class LogSource(BlockHashes, Protocol):
    """Where logs are, and what each block has of them."""

    def blocks_with_logs(self, query: LogQuery, first: int, last: int) -> Iterator[int]:
        """Yield the blocks from `first` to `last` that may have a log of `query`."""

    def knows(self, number: int) -> bool:
        """Say whether the logs of a block are at hand."""

    def logs_of(self, number: int) -> BlockLogs | None:
        """Return the logs of a block."""


class Span(msgspec.Struct, frozen=True):
    """The blocks from `first` to `last`; none at all if `first` is the greater one."""

    first: int
    last: int


class LogLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one question for logs may return and cover; a single block is never too much."""

    results: int = 10_000
    blocks: int | None = None
    alternatives: int = 1_000

    def check(self, query: LogQuery) -> None:
        """Reject a filter that names too much in one place."""
        limit = self.alternatives
        if len(query.addresses) > limit:
            raise TooManyAlternatives("address", len(query.addresses), limit)
        for index, topics in enumerate(query.topics):
            if len(topics) > limit:
                raise TooManyAlternatives(f"topics[{index}]", len(topics), limit)


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which logs, in which blocks: a range, or the one block with a given hash."""

    query: LogQuery = ANY_LOG
    first: BlockName | None = None
    last: BlockName | None = None
    block_hash: Hash32 | None = None

    def __post_init__(self) -> None:
        """Reject a block together with a range."""
        if self.block_hash is not None and not (self.first is None and self.last is None):
            raise HashAndRange

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read a filter object of decoded JSON; null is the same as absent, other keys are ignored."""
        fields = _object(value)
        return cls(
            query=_query(fields),
            first=_optional(fields, "fromBlock", _block),
            last=_optional(fields, "toBlock", _block),
            block_hash=_optional(fields, "blockHash", Hash32.parse),
        )

    def resolve(self, head: Head, blocks: BlockHashes) -> Span:
        """Return the blocks to look at now; what is not said is the latest block."""
        if self.block_hash is not None:
            number = blocks.block_number(self.block_hash)
            if number is None:
                raise UnknownBlock(self.block_hash)
            return Span(number, number)
        first = head.number if self.first is None else head.resolve(self.first)
        return Span(first, self.last_block(head))

    def last_block(self, head: Head) -> int:
        """Return the last block of the range as it is now."""
        return head.number if self.last is None else min(head.resolve(self.last), head.number)


def parse_query(value: object) -> LogQuery:
    """Read `address` and `topics` of a filter object, whatever else it has."""
    return _query(_object(value))


class LogSearch(msgspec.Struct, frozen=True):
    """A question for logs whose blocks are settled: what is left touches nothing but their source."""

    source: LogSource
    query: LogQuery
    span: Span
    limits: LogLimits
    block_hash: Hash32 | None = None

    @classmethod
    def of(
        cls, source: LogSource, head: Head, wanted: LogFilter, limits: LogLimits | None = None
    ) -> Self:
        """Return the search for what is wanted as the chain is now."""
        limits = limits or LogLimits()
        limits.check(wanted.query)
        span = wanted.resolve(head, source)
        return cls(source, wanted.query, span, limits, wanted.block_hash)

    def run(self) -> list[bytes]:
        """Return the logs in order, as JSON; any thread may. Never many more than allowed are held."""
        self._check_range()
        return self._collect(cooperatively(self._blocks()))

    def at_once(self) -> list[bytes] | None:
        """Return the logs if that takes no time worth speaking of, so that an event loop may do it."""
        self._check_range()
        near = self._near()
        return None if near is None else self._collect(near)

    def _near(self) -> list[BlockLogs] | None:
        """Return the blocks that may have logs, unless they are many or have many."""
        span = self.span
        if span.last - span.first >= POLICY.log_blocks:
            return None
        numbers: Iterable[int] = range(span.first, span.last + 1)
        if not all(map(self.source.knows, numbers)):
            if sum(map(len, self.query.criteria())) > POLICY.log_prefixes:
                return None
            numbers = self.source.blocks_with_logs(self.query, span.first, span.last)
        found: list[BlockLogs] = []
        left = POLICY.logs
        for logs in self._read(numbers):
            left -= logs.effort
            if left < 0:
                return None
            found.append(logs)
        return found

    def _blocks(self) -> Iterator[BlockLogs]:
        span = self.span
        return self._read(self.source.blocks_with_logs(self.query, span.first, span.last))

    def _read(self, numbers: Iterable[int]) -> Iterator[BlockLogs]:
        for logs in map(self.source.logs_of, numbers):
            if logs is None:
                # The chain went back while this was reading.
                return
            if self.block_hash is not None and logs.hash != self.block_hash:
                # It went back between looking up the hash and reading the block.
                raise UnknownBlock(self.block_hash)
            yield logs

    def _collect(self, blocks: Iterable[BlockLogs]) -> list[bytes]:
        first, limit = self.span.first, self.limits.results
        found: list[bytes] = []
        for logs in blocks:
            texts = logs.matching(self.query)
            found += texts if len(logs) <= POLICY.logs else cooperatively(texts)
            if len(found) > limit and first < self.span.last:
                raise TooManyResults(limit, first, max(first, logs.number - 1))
        return found

    def _check_range(self) -> None:
        span, limit = self.span, self.limits.blocks
        if limit is not None and span.last > span.first and span.last - span.first >= limit:
            raise TooManyBlocks(limit, span.first, span.first + max(limit, 1) - 1)


# Reading JSON


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
        raise TooManyTopics
    positions = [
        frozenset[bytes](_alternatives(wanted, f"topics[{index}]"))
        for index, wanted in enumerate(value)
    ]
    # An open position at the end asks for nothing, not even that the log has so many topics.
    while positions and not positions[-1]:
        positions.pop()
    return tuple(positions)


def _alternatives(value: object, place: str) -> list[Hash32]:
    """Return the topics of one position; a null among several makes the position open."""
    if isinstance(value, list) and None in value:
        _one_or_many([it for it in value if it is not None], Hash32.parse, place)
        return []
    return _one_or_many(value, Hash32.parse, place)


def _one_or_many(value: object, read: Callable[[object], _Value], place: str) -> list[_Value]:
    if value is None:
        return []
    if isinstance(value, list):
        if len(value) > MOST_ALTERNATIVES:
            raise TooManyAlternatives(place, len(value), MOST_ALTERNATIVES)
        return [_at(f"{place}[{index}]", read, item) for index, item in enumerate(value)]
    return [_at(place, read, value)]


def _optional(
    fields: dict[str, object], place: str, read: Callable[[object], _Value]
) -> _Value | None:
    value = fields.get(place)
    return None if value is None else _at(place, read, value)


def _at(place: str, read: Callable[[object], _Value], value: object) -> _Value:
    try:
        return read(value)
    except MalformedValue as error:
        raise MalformedValue(error.problem, field=place) from error


def _block(value: object) -> BlockName:
    if isinstance(value, str) and value in _TAGS:
        return BlockTag(value)
    return int(Quantity64.parse(value))


_TAGS: Final = frozenset(BlockTag)
