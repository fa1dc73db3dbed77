"""Log transactions once they are in a sealed block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from entresol.chain.events import BlockSealed, ChainEvents
from entresol.node.log.entries import TransactionIncluded
from entresol.primitives.values import Address
from entresol.rpc.render.receipts import created_contract

if TYPE_CHECKING:
    from entresol.node.log.entries import LogFormat
    from entresol.primitives.records import BlockRecord
    from entresol.storage.readers import BlockReader


class TransactionLog:
    """Follows a chain, and logs the transactions of its new blocks.

    Remembers: blocks that are not logged yet. Persists: nothing. Assumes: an event loop, on which the chain is changed.
    Fails: never; a block that is reverted before it is logged is left out.
    """

    def __init__(
        self,
        events: ChainEvents,
        blocks: BlockReader,
        log_format: LogFormat,
        write: Callable[[str], None],
        layer: str = "",
        hidden: Address | None = None,
    ) -> None:
        self._chain_events = events
        self._blocks = blocks
        self._format = log_format
        self._write = write
        self._layer = layer
        self._hidden = hidden
        self._is_due = False
        self._events = events.subscribe(wake=self._wake)

    def close(self) -> None:
        """Log the blocks that are left, and unsubscribe."""
        self._chain_events.unsubscribe(self._events)
        self.step()

    def step(self) -> None:
        """Log the blocks since the last step."""
        self._is_due = False
        events, _ = self._events.take()
        for event in events:
            if isinstance(event, BlockSealed) and event.header.gas_used:
                for entry in self._included(event):
                    self._write(self._format.transaction(entry))

    def _wake(self) -> None:
        """Schedule a step after the response to the request that sealed the block."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.step)

    def _included(self, sealed: BlockSealed) -> Iterator[TransactionIncluded]:
        record = self._blocks.get_record(sealed.number)
        if record is not None and self._blocks.block_hash(sealed.number) == sealed.hash:
            for entry in included_in(record, sealed, self._layer):
                if entry.sender != self._hidden:
                    yield entry


def included_in(
    record: BlockRecord, sealed: BlockSealed, layer: str = ""
) -> Iterator[TransactionIncluded]:
    """Yield a log entry for each transaction of a block."""
    for index, result in enumerate(record.results):
        transaction = record.transaction(index)
        created = created_contract(transaction, result)
        failure = sealed.failures.get(index)
        yield TransactionIncluded(
            hash=transaction.hash,
            sender=transaction.sender,
            to=transaction.payload.to,
            created=None if created is None else Address(created),
            gas_used=result.gas_used,
            block=sealed.number,
            block_hash=sealed.hash,
            succeeded=result.succeeded,
            failure=None if failure is None else str(failure),
            layer=layer,
        )
