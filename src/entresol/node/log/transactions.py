"""Telling of transactions, once they are in a sealed block."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from entresol.chain.events import BlockSealed
from entresol.node.log.entries import TransactionIncluded
from entresol.primitives.values import Address
from entresol.rpc.render.receipts import created_contract

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.node.log.entries import LogFormat
    from entresol.primitives.records import BlockRecord


class TransactionLog:
    """Follows a chain, and tells of the transactions in its new blocks.

    Remembers: blocks that were not told yet. Persists: nothing. Assumes: an event loop, on which the chain is changed.
    Fails: never; a block that is gone by the time it would be told is left out.
    """

    def __init__(
        self,
        chain: Chain,
        lines: LogFormat,
        tell: Callable[[str], None],
        layer: str = "",
        hidden: Address | None = None,
    ) -> None:
        self._chain = chain
        self._lines = lines
        self._tell = tell
        self._layer = layer
        self._hidden = hidden
        self._is_due = False
        self._events = chain.events.subscribe(wake=self._wake)

    def close(self) -> None:
        """Tell what is left, and stop listening."""
        self._chain.events.unsubscribe(self._events)
        self.step()

    def step(self) -> None:
        """Tell of the blocks since the last time."""
        self._is_due = False
        events, _ = self._events.take()
        for event in events:
            if isinstance(event, BlockSealed) and event.header.gas_used:
                for entry in self._included(event):
                    self._tell(self._lines.included(entry))

    def _wake(self) -> None:
        """Tell soon: after the answer to the request that sealed the block."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.step)

    def _included(self, sealed: BlockSealed) -> Iterator[TransactionIncluded]:
        store = self._chain.ledger.store
        record = store.get_record(sealed.number)
        if record is not None and store.block_hash(sealed.number) == sealed.hash:
            for entry in included_in(record, sealed, self._layer):
                if entry.sender != self._hidden:
                    yield entry


def included_in(
    record: BlockRecord, sealed: BlockSealed, layer: str = ""
) -> Iterator[TransactionIncluded]:
    """Yield what is told of each transaction of a block."""
    for index, outcome in enumerate(record.results):
        transaction = record.transaction(index)
        created = created_contract(transaction, outcome)
        failure = sealed.failures.get(index)
        yield TransactionIncluded(
            hash=transaction.hash,
            sender=transaction.sender,
            to=transaction.payload.to,
            created=None if created is None else Address(created),
            gas_used=outcome.gas_used,
            block=sealed.number,
            block_hash=sealed.hash,
            succeeded=outcome.succeeded,
            failure=None if failure is None else str(failure),
            layer=layer,
        )
