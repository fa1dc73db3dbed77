"""Log transactions: those in a sealed block with what they did, and those that were rejected."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Final

from entresol.chain.events import BACKLOG, BlockSealed, ChainEvents, Event
from entresol.contracts.abi_registry import AbiRegistry
from entresol.primitives.records import BlockRecord
from entresol.primitives.values import Address
from entresol.rpc.render.chain_json import created_contract
from entresol.terminal.formats import (
    LogFormat,
    RejectionsSuppressed,
    RequestRejected,
    TransactionIncluded,
)
from entresol.terminal.log_details import LogDetails
from entresol.terminal.traces import LoggedBlock, TraceLog

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.server.handler import ClientConnection
    from entresol.server.responses import HttpResponse
    from entresol.storage.store_view import StoreView
    from entresol.terminal.explainer import Explainer
    from entresol.terminal.writer import FormatText

SEND_MARK: Final = b"_send"
"""The text in the body of a request that sends transactions: all such methods have it in their name."""

MAX_HELD_SECONDS: Final = 0.1
"""How long a block is held back: a sender may wait for another block, or for one that never comes."""

TEXT_SIZE: Final = 2
"""Characters of the text of a block for each byte of its record, roughly."""

REJECTION_WINDOW_SECONDS: Final = 1.0
MAX_LOGGED_REJECTIONS: Final = 20
"""How many rejections of one window are logged one by one; the rest are counted."""


class OpenSends:
    """Orders the lines of a chain: a request that sent a transaction comes before the transaction.

    A block is sealed before its senders have their responses, and the line of a request has the time until then.

    Remembers: open requests, and what is held back for them. Assumes: one event loop.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._open: dict[int, None] = {}
        self._held: deque[tuple[int, Callable[[], None]]] = deque()

    @contextmanager
    def holding(self, body: bytes) -> Iterator[None]:
        """Hold back blocks until the request `body` is logged, if it sends transactions."""
        if SEND_MARK not in body:
            yield
            return
        number = next(self._numbers)
        self._open[number] = None
        try:
            yield
        finally:
            del self._open[number]
            if self._held:
                self._release(next(iter(self._open), next(self._numbers)))

    def after(self, write: Callable[[], None]) -> None:
        """Call `write` in a later turn of the event loop, once the requests that are open now are logged."""
        loop = asyncio.get_running_loop()
        if not self._open and not self._held:
            loop.call_soon(write)
            return
        last = next(self._numbers)
        self._held.append((last, write))
        loop.call_later(MAX_HELD_SECONDS, self._release, last + 1)

    def _release(self, first_open: int) -> None:
        """Write what is held back only for requests before `first_open`."""
        while self._held and self._held[0][0] < first_open:
            asyncio.get_running_loop().call_soon(self._held.popleft()[1])


class TransactionLog:
    """Follows a chain, and logs the transactions of its new blocks.

    Remembers: blocks that are not logged yet. Assumes: an event loop, on which the chain is changed. Fails: never; a
    block that is reverted before it is logged is left out.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        events: ChainEvents,
        blocks: StoreView,
        log_format: LogFormat,
        write: Callable[[str], None],
        layer: str = "",
        hidden: Collection[Address] = (),
        *,
        details: LogDetails | None = None,
        ledger: Ledger | None = None,
        is_enabled: Callable[[], bool] = lambda: True,
        sends: OpenSends | None = None,
        write_later: Callable[[FormatText, int], None] | None = None,
        explainer: Explainer | None = None,
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
        self._explainer = explainer
        wants = self._details.wants_trace(succeeded=False) or explainer is not None
        if ledger is not None and wants:
            self._traces = TraceLog(ledger, self._details, self._write_entry, explainer)
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
        is_brief = self._details.is_brief and not self._explains
        if self._write_later is not None and is_brief and not sealed.failures:
            self._log_later(self._write_later, sealed)
        else:
            self._log(sealed)

    @property
    def _explains(self) -> bool:
        return self._explainer is not None and not self._explainer.is_empty

    def _log_later(
        self, write_later: Callable[[FormatText, int], None], sealed: BlockSealed
    ) -> None:
        """Have a block formatted that needs nothing but its record, which another may replace in the store."""
        stored = self._blocks.get_encoded_record(sealed.number)
        if stored is not None and self._blocks.block_hash(sealed.number) == sealed.hash:
            write_later(partial(self._text_of, stored, sealed), TEXT_SIZE * len(stored))

    def _text_of(self, stored: bytes, sealed: BlockSealed) -> str | None:
        entries = included_in(BlockRecord.decode(stored), sealed, self._layer, self._details)
        texts = [
            self._format.transaction(entry) for entry in entries if entry.sender not in self._hidden
        ]
        return "\n".join(texts) if texts else None

    def _log(self, sealed: BlockSealed) -> None:
        included = dict(self._included(sealed))
        entries, wants = list(included.values()), self._details.wants_trace
        traced = frozenset(
            index for index, entry in included.items() if wants(succeeded=entry.succeeded)
        )
        failed: frozenset[int] = frozenset()
        explains = self._explains
        if explains:
            failed = frozenset(index for index, entry in included.items() if not entry.succeeded)
        wants_thread = traced or explains or (self._traces and not self._traces.is_idle)
        if self._traces is not None and entries and wants_thread:
            failures = sealed.failures if explains else None
            block = LoggedBlock(sealed.number, entries, traced, list(included), failed, failures)
            self._traces.add(block)
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
                if entry.sender not in self._hidden:
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


class RejectionLog:
    """Logs the first rejections of each second, and then how many more there were.

    Otherwise a client could fill the disk that holds the log, by a flood of bad requests.

    Remembers: when the window ends, and the rejections in it. Assumes: an event loop.
    """

    def __init__(
        self, log_format: LogFormat, write: Callable[[str], None], layer: str = ""
    ) -> None:
        self._format = log_format
        self._write = write
        self._layer = layer
        self._end = 0.0
        self._count = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, response: HttpResponse, connection: ClientConnection) -> None:
        """Log or count a rejection."""
        now = monotonic()
        if now >= self._end:
            self.step()
            self._end = now + REJECTION_WINDOW_SECONDS
        self._count += 1
        if self._count <= MAX_LOGGED_REJECTIONS:
            entry = RequestRejected(response.status, response.reason, connection.peer, self._layer)
            self._write(self._format.rejection(entry))
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._end - now, self.step)

    def step(self) -> None:
        """Log how many rejections were suppressed, and end the window."""
        suppressed, self._count = self._count - MAX_LOGGED_REJECTIONS, 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if suppressed > 0:
            self._write(self._format.suppressed(RejectionsSuppressed(suppressed, self._layer)))
