"""The logs of one block: found by what they have, and written once for all who ask."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from entresol._native import keccak256
from entresol.primitives.headers import number_and_timestamp
from entresol.primitives.records import BlockRecord
from entresol.rpc.render.inclusion import BatchInfo, BlockInclusion
from entresol.rpc.render.logs import event_text, log_context
from entresol.storage.log_index import LogQuery

# At most what the objects take besides the bytes of a transaction and the data of a log.
_BLOCK_BYTES: Final = 2_048
_TRANSACTION_BYTES: Final = 512
_LOG_BYTES: Final = 1_536
# The data itself, and its hex digits.
_BYTES_PER_DATA_BYTE: Final = 3

# How many logs that are written take as long as one that is not.
_WRITTEN_PER_UNWRITTEN: Final = 16


class BlockLogs:
    """What contracts emitted in a block, in order.

    A text is written when it is first asked for, because a filter may ask for one of a thousand.
    Any thread may ask: two that write the same text at once write the same.
    """

    __slots__ = (
        "_context", "_events", "_place", "_record", "_removed", "_starts", "_texts", "weight",
    )  # fmt: skip

    def __init__(
        self, record: BlockRecord, batch: BatchInfo | None, *, removed: bool = False
    ) -> None:
        """Take a block, in its batch if that is sealed; `removed` says that the chain went back behind it."""
        number, timestamp = number_and_timestamp(record.header_rlp)
        self._place = BlockInclusion(number, keccak256(record.header_rlp), timestamp, 0, batch)
        self._record = msgspec.structs.replace(record, changes=(), codes=(), edits=())
        self._removed = removed
        self._events = tuple(log for outcome in record.results for log in outcome.logs)
        self._starts = tuple(accumulate((len(it.logs) for it in record.results), initial=0))
        self._texts: list[bytes | None] = [None] * len(self._events)
        # The transaction written last, and what its logs have in common.
        self._context = -1, ""
        self.weight = self._most_bytes()

    def __len__(self) -> int:
        return len(self._events)

    @property
    def number(self) -> int:
        """The number of the block."""
        return self._place.number

    @property
    def hash(self) -> bytes:
        """The hash of the block."""
        return self._place.hash

    @property
    def cost(self) -> int:
        """What going through them takes, counted in logs that are to be written."""
        return self._texts.count(None) + len(self._texts) // _WRITTEN_PER_UNWRITTEN

    def matching(self, query: LogQuery) -> Iterator[bytes]:
        """Yield the logs of `query` as JSON."""
        texts = self._texts
        for index in self._indexes(query):
            yield texts[index] or self._write(index)

    def _indexes(self, query: LogQuery) -> Sequence[int]:
        """Return which logs `query.accepts`, one criterion after the other: no call for each log."""
        events, wanted = self._events, query.addresses
        found: Sequence[int] = range(len(events))
        if wanted:
            found = [at for at in found if events[at][0] in wanted]
        if query.topics:
            count = len(query.topics)
            found = [at for at in found if len(events[at][1]) >= count]
        for position, wanted in enumerate(query.topics):
            if wanted:
                found = [at for at in found if events[at][1][position] in wanted]
        return found

    def _write(self, index: int) -> bytes:
        position = bisect_right(self._starts, index) - 1
        known, context = self._context
        if known != position:
            transaction_hash = self._record.transaction_hash(position)
            context = log_context(self._place, transaction_hash, position, removed=self._removed)
            self._context = position, context
        within = index - self._starts[position]
        text = event_text(self._events[index], context, index, within).encode()
        self._texts[index] = text
        return text

    def _most_bytes(self) -> int:
        """Return how many bytes it takes at most, when every text is written."""
        raw = sum(_TRANSACTION_BYTES + len(raw) for raw, _ in self._record.transactions)
        data = sum(len(data) for _, _, data in self._events)
        return _BLOCK_BYTES + raw + _LOG_BYTES * len(self._events) + _BYTES_PER_DATA_BYTE * data
