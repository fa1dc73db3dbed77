"""The logs of one block: match them against a query, and render each once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import msgspec

from entresol._native import log_json
from entresol.primitives.headers import number_and_timestamp
from entresol.primitives.records import BlockRecord
from entresol.rpc.render.receipts import log_context
from entresol.rpc.render.transactions import BatchInfo, BlockInclusion
from entresol.storage.log_index import LogQuery

# Upper bounds of what the objects take besides the bytes of a transaction and the data of a log.
_BLOCK_BYTES: Final = 2_048
_TRANSACTION_BYTES: Final = 512
_LOG_BYTES: Final = 1_536
# The data itself, and its hex digits.
_BYTES_PER_DATA_BYTE: Final = 3

# How many rendered logs take as long as one that is not.
_RENDERED_PER_UNRENDERED: Final = 16


class BlockLogs:
    """The logs of a block, in order.

    A log is rendered when it is first needed, because a filter may match one of a thousand. Any thread may read:
    two that render the same log at once render the same.
    """

    __slots__ = (
        "_context", "_inclusion", "_logs", "_record", "_removed", "_rendered", "_starts", "weight",
    )  # fmt: skip

    def __init__(
        self, record: BlockRecord, batch: BatchInfo | None, *, removed: bool = False
    ) -> None:
        """Take a block, and its batch if that is sealed; the logs of a reverted block are `removed`."""
        number, timestamp = number_and_timestamp(record.header_rlp)
        self._inclusion = BlockInclusion(number, record.hash(), timestamp, 0, batch)
        self._record = msgspec.structs.replace(record, changes=(), codes=(), edits=())
        self._removed = removed
        self._logs = tuple(log for result in record.results for log in result.logs)
        self._starts = tuple(accumulate((len(result.logs) for result in record.results), initial=0))
        self._rendered: list[bytes | None] = [None] * len(self._logs)
        # The transaction rendered last, and the members that its logs share.
        self._context = -1, b""
        self.weight = self._max_bytes()

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def number(self) -> int:
        """The number of the block."""
        return self._inclusion.number

    @property
    def hash(self) -> bytes:
        """The hash of the block."""
        return self._inclusion.hash

    @property
    def cost(self) -> int:
        """The cost of matching all logs, in logs that are to be rendered."""
        return self._rendered.count(None) + len(self._rendered) // _RENDERED_PER_UNRENDERED

    def matching(self, query: LogQuery) -> Iterator[bytes]:
        """Yield the logs of `query` as JSON."""
        rendered = self._rendered
        for index in self._indexes(query):
            yield rendered[index] or self._render(index)

    def _indexes(self, query: LogQuery) -> Sequence[int]:
        """Return which logs `query.accepts`, one criterion after the other: no call per log."""
        logs, wanted = self._logs, query.addresses
        found: Sequence[int] = range(len(logs))
        if wanted:
            found = [at for at in found if logs[at][0] in wanted]
        if query.topics:
            count = len(query.topics)
            found = [at for at in found if len(logs[at][1]) >= count]
        for position, wanted in enumerate(query.topics):
            if wanted:
                found = [at for at in found if logs[at][1][position] in wanted]
        return found

    def _render(self, index: int) -> bytes:
        position = bisect_right(self._starts, index) - 1
        rendered_last, context = self._context
        if rendered_last != position:
            transaction_hash = self._record.transaction_hash(position)
            context = log_context(
                self._inclusion, transaction_hash, position, removed=self._removed
            )
            self._context = position, context
        within = index - self._starts[position]
        text = log_json(self._logs[index], context, index, within)
        self._rendered[index] = text
        return text

    def _max_bytes(self) -> int:
        """Return how many bytes it takes at most, when every log is rendered."""
        raw = sum(_TRANSACTION_BYTES + len(raw) for raw, _ in self._record.transactions)
        data = sum(len(data) for _, _, data in self._logs)
        return _BLOCK_BYTES + raw + _LOG_BYTES * len(self._logs) + _BYTES_PER_DATA_BYTE * data
