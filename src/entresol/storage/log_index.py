"""Which blocks may have a log that a filter asks for, found without looking at the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from entresol.storage.tables import (
    ADDRESS_OF_LOG,
    ANY_LOG,
    LOGS,
    NUMBER_SIZE,
    number,
    topic_of_log,
)

if TYPE_CHECKING:
    from entresol.storage.engine import Engine
    from entresol.storage.records import Record


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


def index_keys(record: Record, block: int) -> Iterator[bytes]:
    """Yield the index keys of a block's logs, each once."""
    values = {
        value
        for outcome in record.outcomes
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
    engine: Engine, query: LogQuery, first: int, last: int, *, newest_first: bool = False
) -> Iterator[int]:
    """Yield the blocks from `first` to `last` whose index entries satisfy every criterion.

    Each criterion offers its next block in turn and the others skip to it, so the work follows the
    rarest of them; nothing but one number a criterion is held in memory.
    """
    criteria = query.criteria()
    search = _last_of if newest_first else _first_of
    step = -1 if newest_first else 1
    further = min if newest_first else max
    block = last if newest_first else first
    while first <= block <= last:
        offers = [search(engine, prefixes, block) for prefixes in criteria]
        found = [offer for offer in offers if offer is not None]
        if len(found) < len(offers):
            return
        if all(offer == block for offer in found):
            yield block
            block += step
        else:
            block = further(found)


def _first_of(engine: Engine, prefixes: list[bytes], block: int) -> int | None:
    """Return the first block from `block` on that has an entry under one of `prefixes`."""
    offers = (engine.first_at_least(LOGS + p + number(block), LOGS + p) for p in prefixes)
    return min((_block_of(offer[0]) for offer in offers if offer is not None), default=None)


def _last_of(engine: Engine, prefixes: list[bytes], block: int) -> int | None:
    """Return the last block up to `block` that has an entry under one of `prefixes`."""
    offers = (engine.last_at_most(LOGS + p + number(block), LOGS + p) for p in prefixes)
    return max((_block_of(offer[0]) for offer in offers if offer is not None), default=None)


def _block_of(key: bytes) -> int:
    return int.from_bytes(key[-NUMBER_SIZE:])
