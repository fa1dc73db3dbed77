"""Announce what happens on a producer's chain to its replicas, before any client sees it, and pass its events on."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from entresol.chain.events import (
    BlockSealed,
    BlocksReverted,
    ChainEvents,
    Event,
    TransactionPending,
)
from entresol.features.workers.state_page import MAX_REVERTS, ChainState, Revert, StatePage
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import Transaction, load
from entresol.primitives.values import Address
from entresol.storage.read_cache import memory_of_record

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.primitives.batches import Batch
    from entresol.server.handler import ClientConnection, Handler
    from entresol.storage.store_view import StoreView

_MAX_PRICE: Final = 2**63

MAX_REVERTED_RECORDS: Final = 256
"""Blocks whose records are remembered until subscribers are notified, which is in the next turn."""

_encode: Final = msgspec.msgpack.Encoder().encode

_decode_reverted: Final = msgspec.msgpack.Decoder(tuple[int, tuple[bytes, ...]]).decode


class ReplicaSubscribers(Protocol):
    """Passes events to the replicas that have subscribers for them."""

    def on_sealed(self, number: int) -> None:
        """Pass a new block."""

    def on_reverted(self, event: BlocksReverted) -> None:
        """Pass a revert."""

    def on_transaction(self, transaction: Transaction) -> None:
        """Pass a pending transaction."""


class StatePublisher:
    """Writes the state of a chain to a page: at each event, when blocks become final, and before each response.

    So whatever a client has seen here, a replica that serves it later finds in the page. Remembers: the state announced
    last. Assumes: one event loop, whose thread alone changes the chain.
    """

    def __init__(
        self,
        chain: Chain,
        page: StatePage,
        subscribers: ReplicaSubscribers,
        fees: FeeModel | None = None,
    ) -> None:
        self.page = page
        self._chain = chain
        self._subscribers = subscribers
        self._fees = fees
        self._reverts: list[Revert] = []
        self._batched = self._last_batched()
        self._seen: tuple[object, ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        chain.events.listen(self._on_event)
        chain.finality_set.add(self.sync)
        chain.ledger.store.before_rewrite(self._on_rewrite)
        if fees is not None:
            # Nothing else may happen on this chain for long.
            fees.repriced.add(self.sync)
        self.sync()

    def batch_sealed(self, batch: Batch) -> None:
        """Announce a sealed batch."""
        self._batched = batch.last_block
        self.sync()

    def sync(self) -> None:
        """Announce the state, if it is not the one announced last."""
        chain = self._chain
        fees = self._fees
        prices = None if fees is None else (fees.l1_gas_price, fees.ether_price)
        now = (
            chain.ledger.head_hash,
            chain.finality,
            chain.settings,
            chain.edits.exist,
            prices,
            self._batched,
            self.page.rewrites,
            len(self._reverts) and self._reverts[-1],
        )
        if now != self._seen:
            self._seen = now
            self.page.write(self._state())

    def serving(self, handler: Handler) -> Handler:
        """Return a handler that announces the state before each response."""

        def handle(
            body: bytes, connection: ClientConnection
        ) -> bytes | Awaitable[bytes | None] | None:
            response = handler(body, connection)
            if response is None or isinstance(response, bytes):
                self.sync()
                return response
            return self._finish(response)

        return handle

    async def _finish(self, response: Awaitable[bytes | None]) -> bytes | None:
        assert inspect.isawaitable(response)
        body = await response
        self.sync()
        return body

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TransactionPending):
            self._subscribers.on_transaction(event.transaction)
        elif isinstance(event, BlocksReverted):
            self._on_reverted(event)
        else:
            self.sync()
            self._subscribers.on_sealed(event.number)

    def _on_reverted(self, event: BlocksReverted) -> None:
        self._batched = self._last_batched()
        serial = self._reverts[-1].serial + 1 if self._reverts else 1
        revert = Revert(serial, event.head, self._batched)
        self._reverts = [*self._reverts, revert][-MAX_REVERTS:]
        self.sync()
        self._subscribers.on_reverted(event)

    def _last_batched(self) -> int:
        last = self._chain.batches.last()
        return -1 if last is None else last.last_block

    def _on_rewrite(self) -> None:
        """Stop replicas from reading the store until the write is done and what it changed is announced."""
        self.page.begin_rewrite()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_soon(self.sync)

    def _state(self) -> ChainState:
        chain, fees = self._chain, self._fees
        settings, price = chain.settings, None if fees is None else fees.l1_gas_price
        has_price = price is not None and 0 <= price < _MAX_PRICE
        return ChainState(
            head=chain.number,
            head_hash=bytes(chain.ledger.head_hash),
            rewrites=self.page.rewrites,
            reverts=tuple(self._reverts),
            safe=chain.finality.safe,
            finalized=chain.finality.finalized,
            beneficiary=None if settings.beneficiary is None else bytes(settings.beneficiary),
            batched=self._batched,
            l1_gas_price=price if has_price else None,
            ether_price=None if fees is None else fees.ether_price.pack(),
            is_edited=chain.edits.exist
            or settings.base_fee is not None
            or (price is not None and not has_price),
        )


class ShippedEvents:
    """The events of a producer's chain as a replica receives them, and the records of their blocks.

    Remembers: the last records. Assumes: one event loop, and events in their order.
    """

    def __init__(self, records: StoreView) -> None:
        self.events = ChainEvents()
        self._sealed: BoundedMap[int, BlockRecord] = BoundedMap(MAX_REVERTED_RECORDS)
        self._records = records

    def get_record(self, number: int) -> BlockRecord | None:
        """Return the record of a block that was sealed last with this number, even if it is reverted since."""
        record = self._sealed.get(number)
        return self._records.get_record(number) if record is None else record

    def on_sealed(self, payload: bytes) -> None:
        """Publish a block by its encoded record."""
        record = BlockRecord.decode(payload)
        header = record.header()
        self._sealed.put(header.number, record)
        self.events.publish(BlockSealed(header.number, record.hash(), header))

    def on_reverted(self, payload: bytes) -> None:
        """Publish a revert, as `encode_reverted` encodes it."""
        head, records = _decode_reverted(payload)
        reverted = tuple(map(BlockRecord.decode, records))
        self.events.publish(BlocksReverted(reverted, head, sum(map(memory_of_record, reverted))))

    def on_transaction(self, payload: bytes) -> None:
        """Publish a pending transaction, as `encode_pending` encodes it."""
        sender, raw = payload[: Address.size], payload[Address.size :]
        self.events.publish(TransactionPending(load(raw, Address(sender))))


def encode_pending(transaction: Transaction) -> bytes:
    """Return the bytes that `ShippedEvents.on_transaction` reads; no sender is recovered again, and some have no key."""
    return bytes(transaction.sender) + transaction.raw


def encode_reverted(event: BlocksReverted) -> bytes:
    """Return the bytes that `ShippedEvents.on_reverted` reads."""
    return _encode((event.head, [record.encode() for record in event.records]))
