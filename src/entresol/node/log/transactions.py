"""Log transactions once they are in a sealed block."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BACKLOG, BlockSealed, ChainEvents
from entresol.contracts.abi_registry import AbiRegistry
from entresol.node.log.call_tree import CallTree
from entresol.node.log.details import LogDetails
from entresol.node.log.entries import TransactionIncluded
from entresol.node.log.open_sends import OpenSends
from entresol.node.log.traces import LoggedBlock, TraceLog
from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Address
from entresol.rpc.render.receipts import created_contract

if TYPE_CHECKING:
    from entresol.chain.events import Event
    from entresol.execution.trace.block_trace import SealedBlock
    from entresol.node.log.console import FormatText
    from entresol.node.log.entries import LogFormat
    from entresol.storage.store_view import BlockReader

TEXT_SIZE: Final = 2
"""Characters of the text of a block for each byte of its record, roughly."""


class TransactionLog:
    """Follows a chain, and logs the transactions of its new blocks.

    Remembers: blocks that are not logged yet. Persists: nothing. Assumes: an event loop, on which the chain is changed.
    Fails: never; a block that is reverted before it is logged is left out.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        events: ChainEvents,
        blocks: BlockReader,
        log_format: LogFormat,
        write: Callable[[str], None],
        layer: str = "",
        hidden: Address | None = None,
        *,
        details: LogDetails | None = None,
        sealed_block: Callable[[int], SealedBlock] | None = None,
        is_enabled: Callable[[], bool] = lambda: True,
        sends: OpenSends | None = None,
        write_later: Callable[[FormatText, int], None] | None = None,
    ) -> None:
        """Log by `write`; by `write_later`, if it is given, what can be formatted on any thread."""
        self._chain_events = events
        self._blocks = blocks
        self._format = log_format
        self._write = write
        self._write_later = write_later
        self._layer = layer
        self._hidden = hidden
        self._details = details or LogDetails(AbiRegistry())
        self._traces: TraceLog | None = None
        if sealed_block is not None and self._details.wants_trace(succeeded=False):
            tree = CallTree(self._details.abis)
            self._traces = TraceLog(sealed_block, tree, self._write_entry)
        self._is_enabled = is_enabled
        self._sends = sends or OpenSends()
        self._due: deque[BlockSealed] = deque(maxlen=BACKLOG)
        events.listen(self._on_event, BlockSealed)

    def close(self) -> None:
        """Log the blocks that are left, and listen no more."""
        self._chain_events.remove(self._on_event)
        while self._due:
            self.step()
        if self._traces is not None:
            self._traces.close()

    def step(self) -> None:
        """Log the oldest block that is not logged yet."""
        if not self._due:
            return
        sealed = self._due.popleft()
        if self._write_later is not None and self._details.is_brief and not sealed.failures:
            self._log_later(self._write_later, sealed)
        else:
            self._log(sealed)

    def _log_later(
        self, write_later: Callable[[FormatText, int], None], sealed: BlockSealed
    ) -> None:
        """Have a block formatted that needs nothing but its record, which another may replace in the store."""
        stored = self._blocks.get_encoded_record(sealed.number)
        if stored is not None and self._blocks.block_hash(sealed.number) == sealed.hash:
            write_later(partial(self._text_of, stored, sealed), TEXT_SIZE * len(stored))

    def _text_of(self, stored: bytes, sealed: BlockSealed) -> str | None:
        entries = included_in(BlockRecord.decode(stored), sealed, self._layer, self._details)
        texts = [self._format.transaction(it) for it in entries if it.sender != self._hidden]
        return "\n".join(texts) if texts else None

    def _log(self, sealed: BlockSealed) -> None:
        included = dict(self._included(sealed))
        entries, wants = list(included.values()), self._details.wants_trace
        traced = frozenset(
            index for index, entry in included.items() if wants(succeeded=entry.succeeded)
        )
        if self._traces is not None and entries and (traced or not self._traces.is_idle):
            self._traces.add(LoggedBlock(sealed.number, entries, traced, list(included)))
            return
        for entry in entries:
            self._write_entry(entry)

    def _write_entry(self, entry: TransactionIncluded) -> None:
        self._write(self._format.transaction(entry))

    def _on_event(self, event: Event) -> None:
        """Schedule the lines of a new block, after those of the requests that sent its transactions."""
        if isinstance(event, BlockSealed) and event.header.gas_used and self._is_enabled():
            self._due.append(event)
            self._sends.after(self.step)

    def _included(self, sealed: BlockSealed) -> Iterator[tuple[int, TransactionIncluded]]:
        record = self._blocks.get_record(sealed.number)
        if record is not None and self._blocks.block_hash(sealed.number) == sealed.hash:
            for index, entry in enumerate(included_in(record, sealed, self._layer, self._details)):
                if entry.sender != self._hidden:
                    yield index, entry


def included_in(
    record: BlockRecord, sealed: BlockSealed, layer: str, details: LogDetails
) -> Iterator[TransactionIncluded]:
    """Yield a log entry for each transaction of a block."""
    for index, result in enumerate(record.results):
        transaction = record.transaction(index)
        payload, created = transaction.payload, created_contract(transaction, result)
        yield TransactionIncluded(
            hash=transaction.hash,
            sender=transaction.sender,
            to=payload.to,
            created=None if created is None else Address(created),
            gas_used=result.gas_used,
            block=sealed.number,
            block_hash=sealed.hash,
            timestamp=sealed.header.timestamp,
            succeeded=result.succeeded,
            failure=details.failure(sealed.failures.get(index)),
            call=None if payload.to is None else details.call(payload.data),
            events=details.events(result),
            console=details.console(sealed.console.get(index)),
            layer=layer,
        )
