"""Search for logs: resolve the blocks of a filter, and collect its logs within limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Self

import msgspec

from entresol.chain.chain import Chain
from entresol.errors import (
    InvalidFilter,
    TooManyAlternatives,
    TooManyBlocks,
    TooManyResults,
    UnknownBlock,
)
from entresol.offload import POLICY
from entresol.primitives.values import Hash32
from entresol.rpc.cache import BlockLogs, LogCache
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.types.log_filter import LogFilter
from entresol.storage.log_index import LogQuery


class BlockRange(msgspec.Struct, frozen=True):
    """The blocks from `first` to `last`; none at all if `first` is the greater one."""

    first: int
    last: int


class LogLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much one request for logs may return and cover, and what a filter may say.

    A single block is never too much.
    """

    results: int = 10_000
    blocks: int | None = None
    alternatives: int = 1_000
    follows_geth: bool = False
    """Whether open positions at the end demand a topic, as in geth, and a filter is rejected if its range ends before
    it begins, as in geth, or begins above the head, as in anvil; by default such positions demand nothing, and such a
    filter is a filter, as in the ZK Stack."""

    def checked(self, wanted: LogFilter, chain: Chain) -> LogFilter:
        """Return a filter by these rules; reject a range or a query that they do not allow."""
        if self.follows_geth:
            check_range(wanted, chain)
        query = self.checked_query(wanted.query)
        return wanted if query is wanted.query else msgspec.structs.replace(wanted, query=query)

    def checked_query(self, query: LogQuery) -> LogQuery:
        """Return a query by these rules; reject one with too many alternatives in one position."""
        self._check_alternatives(query)
        return query if self.follows_geth else query.without_open_end()

    def _check_alternatives(self, query: LogQuery) -> None:
        limit = self.alternatives
        if len(query.addresses) > limit:
            raise TooManyAlternatives("address", len(query.addresses), limit)
        for index, topics in enumerate(query.topics):
            if len(topics) > limit:
                raise TooManyAlternatives(f"topics[{index}]", len(topics), limit)


def check_range(wanted: LogFilter, chain: Chain) -> None:
    """Reject a range that begins above the head, or ends before it begins."""
    first, last = wanted.from_block, wanted.to_block
    if isinstance(first, int) and first > chain.number:
        raise InvalidFilter(
            f"BlockOutOfRangeError: block height is {chain.number} but requested was {first}"
        )
    # Tags are not compared: where they are depends on the head.
    if isinstance(first, int) and isinstance(last, int) and first > last:
        raise InvalidFilter("invalid block range params")


def resolve_range(wanted: LogFilter, chain: Chain) -> BlockRange:
    """Return the blocks that a filter names now; a missing bound is the latest block."""
    if wanted.block_hash is not None:
        number = chain.blocks.block_number(wanted.block_hash)
        if number is None:
            raise UnknownBlock(wanted.block_hash)
        return BlockRange(number, number)
    first = chain.number if wanted.from_block is None else chain.resolve(wanted.from_block)
    return BlockRange(first, resolve_last(wanted, chain))


def resolve_last(wanted: LogFilter, chain: Chain) -> int:
    """Return the last block of a filter's range as it is now."""
    if wanted.to_block is None:
        return chain.number
    return min(chain.resolve(wanted.to_block), chain.number)


class LogSearch(msgspec.Struct, frozen=True):
    """A search for logs in a resolved range; what is left to do reads nothing but the source."""

    source: LogCache
    query: LogQuery
    range: BlockRange
    limits: LogLimits
    block_hash: Hash32 | None = None

    @classmethod
    def of(
        cls, source: LogCache, chain: Chain, wanted: LogFilter, limits: LogLimits | None = None
    ) -> Self:
        """Return the search for a filter as the chain is now."""
        limits = limits or LogLimits()
        checked = limits.checked(wanted, chain)
        blocks = resolve_range(checked, chain)
        return cls(source, checked.query, blocks, limits, checked.block_hash)

    def run(self) -> list[bytes]:
        """Return the logs in order, as JSON; any thread may. Never many more than the limit are held."""
        self._check_range()
        found = self.source.blocks_with_logs(self.query, self.range.first, self.range.last)
        return self._collect(cooperatively(self._read(found)))

    def run_if_quick(self) -> list[bytes] | None:
        """Return the logs, or None if the search is too long for the event loop."""
        if self.range.first > self.range.last:
            return []
        self._check_range()
        blocks = self._quick_blocks()
        return None if blocks is None else self._collect(blocks)

    def _quick_blocks(self) -> list[BlockLogs] | None:
        """Return the blocks that may have logs, unless they are many or have many."""
        numbers = self._quick_numbers()
        if numbers is None:
            return None
        found: list[BlockLogs] = []
        left = POLICY.logs
        for number in numbers:
            if self.source.has_many(number, left):
                return None
            for logs in self._read([number]):
                left -= logs.cost
                if left < 0:
                    return None
                found.append(logs)
        return found

    def _quick_numbers(self) -> Iterable[int] | None:
        """Return the blocks to read, unless finding them may take long."""
        first, last = self.range.first, self.range.last
        is_short = last - first < POLICY.log_blocks
        numbers = range(first, last + 1)
        if is_short and all(map(self.source.is_cached, numbers)):
            return numbers
        values = sum(map(len, self.query.criteria()))
        if values > (POLICY.log_prefixes if is_short else 1):
            return None
        # A single block is most often the head, which clients request again: its logs are worth caching.
        if first == last and not self.source.has_many(first, POLICY.logs):
            return numbers
        found = list(
            islice(self.source.blocks_with_logs(self.query, first, last), POLICY.log_blocks + 1)
        )
        return found if len(found) <= POLICY.log_blocks else None

    def _read(self, numbers: Iterable[int]) -> Iterator[BlockLogs]:
        for logs in map(self.source.logs_of, numbers):
            if logs is None:
                # The block was reverted during the search.
                return
            if self.block_hash is not None and logs.hash != self.block_hash:
                # It was replaced between looking up its hash and reading it.
                raise UnknownBlock(self.block_hash)
            yield logs

    def _collect(self, blocks: Iterable[BlockLogs]) -> list[bytes]:
        first, limit = self.range.first, self.limits.results
        found: list[bytes] = []
        for logs in blocks:
            texts = logs.matching(self.query)
            found += texts if len(logs) <= POLICY.logs else cooperatively(texts)
            if len(found) > limit and first < self.range.last:
                raise TooManyResults(limit, first, max(first, logs.number - 1))
        return found

    def _check_range(self) -> None:
        first, last, limit = self.range.first, self.range.last, self.limits.blocks
        if limit is not None and last > first and last - first >= limit:
            raise TooManyBlocks(limit, first, first + max(limit, 1) - 1)
