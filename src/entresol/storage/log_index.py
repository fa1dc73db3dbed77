"""Which blocks may have a log that a filter asks for, found without looking at the others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from entresol.primitives.logs import MAX_TOPICS
from entresol.storage.tables import ADDRESS_OF_LOG, ANY_LOG, LOGS, block_of, number, topic_of_log

if TYPE_CHECKING:
    from entresol.primitives.records import BlockRecord
    from entresol.storage.key_value import KeyValueStore

Search: TypeAlias = Callable[[bytes, int], int | None]


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What a log must have: one of the addresses, and at each position one of the topics.

    An empty collection accepts anything.
    """

    addresses: frozenset[bytes] = frozenset()
    topics: tuple[frozenset[bytes], ...] = ()

    def accepts(self, address: bytes, topics: Sequence[bytes]) -> bool:
        """Say whether a log is one that is asked for."""
        if self.addresses and address not in self.addresses:
            return False
        if not self.topics:
            return True
        if len(topics) < len(self.topics):
            return False
        return all(
            not wanted or topic in wanted
            for wanted, topic in zip(self.topics, topics, strict=False)
        )

    def criteria(self) -> list[list[bytes]]:
        """Return the index prefixes to look under: of each inner list one must have the block."""
        found = [[ADDRESS_OF_LOG + address for address in sorted(self.addresses)]]
        for position, wanted in enumerate(self.topics):
            found.append([topic_of_log(position) + topic for topic in sorted(wanted)])
        asked = [prefixes for prefixes in found if prefixes]
        return asked or [[ANY_LOG]]


def index_keys(record: BlockRecord, block: int) -> Iterator[bytes]:
    """Yield the index keys of a block's logs, each once."""
    values = {
        value
        for outcome in record.results
        for address, topics, _ in outcome.logs
        for value in (
            ANY_LOG,
            ADDRESS_OF_LOG + address,
            *(topic_of_log(position) + topic for position, topic in enumerate(topics)),
        )
    }
    suffix = number(block)
    for value in sorted(values):
        yield LOGS + value + suffix


def candidates(
    engine: KeyValueStore, query: LogQuery, first: int, last: int, *, newest_first: bool = False
) -> Iterator[int]:
    """Yield the blocks from `first` to `last` whose index entries satisfy every criterion.

    Each criterion offers its next block and the others skip to the furthest of them, so the work
    follows the rarest; nothing but one number an address or topic is held in memory.
    """
    if len(query.topics) > MAX_TOPICS:
        return
    # Seen from the far end the search is the same, with the order of the blocks turned round.
    sign = -1 if newest_first else 1
    start, end = (last, first) if newest_first else (first, last)
    search = _backwards(engine) if newest_first else _forwards(engine)
    criteria = [_Criterion(search, prefixes, start, sign) for prefixes in query.criteria()]
    block: int | None = start
    while block is not None and block * sign <= end * sign:
        furthest = _furthest(criteria, block, sign)
        if furthest == block:
            yield block
            block += sign
        else:
            block = furthest


class _Criterion:
    """The next block under any of several prefixes; each is searched only when it is passed."""

    def __init__(self, search: Search, prefixes: list[bytes], start: int, sign: int) -> None:
        self._search = search
        self._sign = sign
        offers = ((search(prefix, start), prefix) for prefix in prefixes)
        self._offers = [(offer * sign, prefix) for offer, prefix in offers if offer is not None]
        heapq.heapify(self._offers)

    def from_block(self, block: int) -> int | None:
        """Return the nearest block, `block` itself or behind it."""
        while self._offers and self._offers[0][0] < block * self._sign:
            prefix = self._offers[0][1]
            offer = self._search(prefix, block)
            if offer is None:
                heapq.heappop(self._offers)
            else:
                heapq.heapreplace(self._offers, (offer * self._sign, prefix))
        return self._offers[0][0] * self._sign if self._offers else None


def _furthest(criteria: list[_Criterion], block: int, sign: int) -> int | None:
    """Return the first block that may satisfy all criteria, or none if one has no more."""
    for criterion in criteria:
        offer = criterion.from_block(block)
        if offer is None:
            return None
        block = max(block * sign, offer * sign) * sign
    return block


def _forwards(engine: KeyValueStore) -> Search:
    def search(prefix: bytes, block: int) -> int | None:
        found = engine.first_at_least(LOGS + prefix + number(block), LOGS + prefix)
        return None if found is None else block_of(found[0])

    return search


def _backwards(engine: KeyValueStore) -> Search:
    def search(prefix: bytes, block: int) -> int | None:
        found = engine.last_at_most(LOGS + prefix + number(block), LOGS + prefix)
        return None if found is None else block_of(found[0])

    return search
