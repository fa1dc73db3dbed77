"""Search the logs of sealed blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.primitives.records import BlockRecord
    from entresol.storage.log_index import LogQuery
    from entresol.storage.store_view import StoreView


class LocatedLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log with its location in the chain."""

    address: Address
    topics: tuple[Hash32, ...]
    data: bytes
    block_number: int
    block_hash: Hash32
    block_timestamp: int
    transaction_hash: Hash32
    transaction_index: int
    index: int
    """Its index among the logs of the block."""
    index_in_transaction: int


def find_logs(
    reader: StoreView, query: LogQuery, first: int, last: int, *, newest_first: bool = False
) -> Iterator[LocatedLog]:
    """Yield the logs that match `query` in the blocks from `first` to `last`."""
    for number in reader.blocks_with_logs(query, first, last, newest_first=newest_first):
        record = reader.get_record(number)
        if record is None:
            # The block was reverted meanwhile.
            return
        found = logs_of_block(record, query)
        yield from reversed(list(found)) if newest_first else found


def logs_of_block(record: BlockRecord, query: LogQuery) -> Iterator[LocatedLog]:
    """Yield the logs of one block that match `query`."""
    header, block_hash = record.header(), record.hash()
    index = 0
    for position, result in enumerate(record.results):
        accepted = [
            (log_index, log) for log_index, log in enumerate(result.logs) if query.accepts(*log[:2])
        ]
        if accepted:
            transaction_hash = record.transaction_hash(position)
        for log_index, (address, topics, data) in accepted:
            yield LocatedLog(
                address=Address(address),
                topics=tuple(map(Hash32, topics)),
                data=data,
                block_number=header.number,
                block_hash=block_hash,
                block_timestamp=header.timestamp,
                transaction_hash=transaction_hash,
                transaction_index=position,
                index=index + log_index,
                index_in_transaction=log_index,
            )
        index += len(result.logs)
