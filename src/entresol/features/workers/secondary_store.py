"""The chain of a producer, as its workers read it: from its store, as far as it has announced."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.chain.events import BlockSealed, BlocksReverted
from entresol.errors import StoreFailed
from entresol.features.workers.state_page import ChainState, Revert, StatePage
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.values import Address
from entresol.replication.router import ReplicaState
from entresol.storage.database.directory import DATABASE, Directory
from entresol.storage.database.key_value import KeyValueStore
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.server.handler import ClientConnection, Handler

logger = logging.getLogger(__name__)

_NONE: Final = -1
"""The version of no state."""


class SecondaryStore(Store):
    """Reads the store of another process, which opened it as `shared`.

    Remembers: the head that was announced; what the database has beyond it is not read. Assumes: `catch_up` and
    `set_head` are called by one thread, while others may read. Fails: as a store does.
    """

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the store in the directory `path`, as it is now."""
        own = Directory.temporary()
        try:
            db = KeyValueStore(path / DATABASE, secondary=own.database)
        except BaseException:
            own.close()
            raise
        return cls(own, db)

    def catch_up(self) -> None:
        """Make everything readable that was written until now, except above the head."""
        self._db.catch_up()

    def set_head(self, number: int, common: int) -> None:
        """Set the head; blocks above `common` are not those that were read before."""
        self.head_number = number
        self.read_cache.evict_above(common)
        self.loaded.refresh()


class StoreFollower:
    """Applies what a producer has announced to the chain of a replica.

    Its events are those that caches need: the lowest block of all reverts, and the new head. Subscribers have
    `ShippedEvents`. Between two rewrites of the store it only gains blocks, and what is above the announced head is not
    read. So the store may be read further at any time but while the producer rewrites something: then the replica is
    stale.

    Remembers: the state applied last. Assumes: one event loop. Fails: never; a replica that cannot follow is stale, and
    forwards all requests until it can.
    """

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain: Chain,
        store: SecondaryStore,
        page: StatePage,
        *,
        current: ReplicaState = ReplicaState.WORKER,
        on_stale: Callable[[], None] = lambda: None,
        on_batch: Callable[[int, int], None] = lambda _first, _last: None,
        fees: FeeModel | None = None,
    ) -> None:
        self._chain = chain
        self._store = store
        self._page = page
        self._current = current
        self._on_stale = on_stale
        self._on_batch = on_batch
        self._fees = fees
        self._version = _NONE
        self._state: ChainState | None = None
        self.state = ReplicaState.STALE
        """How much this process has of what the producer has: `current` after what was announced is applied."""

    def serving(self, handler: Handler) -> Handler:
        """Return a handler that catches up before each request."""
        page = self._page

        def handle(
            body: bytes, connection: ClientConnection
        ) -> bytes | Awaitable[bytes | None] | None:
            if page.version != self._version:
                self.catch_up()
            return handler(body, connection)

        return handle

    def catch_up(self) -> None:
        """Apply what the producer has announced, if it has announced something."""
        if self._page.version == self._version:
            return
        read = self._page.read()
        if read is None or not self._apply(read[1]):
            self._on_failure()
            return
        self._version, self._state = read
        self.state = ReplicaState.EDITED if read[1].is_edited else self._current

    def _on_failure(self) -> None:
        self._version = _NONE
        if self.state is not ReplicaState.STALE:
            self.state = ReplicaState.STALE
            self._on_stale()

    def _apply(self, state: ChainState) -> bool:
        if self._page.rewrites != state.rewrites:
            return False
        before = self._state
        if (
            before is None
            or before.head_hash != state.head_hash
            or before.rewrites != state.rewrites
            or before.reverts != state.reverts
        ):
            common = -1 if before is None else min(before.head, _missed(before, state).number)
            if not self._read_store(state):
                return False
            self._set_head(state, common)
        self._set_rest(state)
        return True

    def _read_store(self, state: ChainState) -> bool:
        try:
            self._store.catch_up()
        except StoreFailed as error:
            logger.warning("the producer's store cannot be read: %s", error)
            return False
        return self._page.rewrites == state.rewrites

    def _set_head(self, state: ChainState, common: int) -> None:
        chain, before = self._chain, self._state
        self._store.set_head(state.head, common)
        chain.ledger.follow(state.head, common)
        if before is not None and common < before.head:
            chain.events.publish(BlocksReverted((), common))
        if state.head > common:
            head = chain.ledger.head
            chain.events.publish(BlockSealed(state.head, chain.ledger.head_hash, head))

    def _set_rest(self, state: ChainState) -> None:
        chain, before = self._chain, self._state
        if before is None or (before.safe, before.finalized) != (state.safe, state.finalized):
            chain.set_finality(safe=state.safe, finalized=state.finalized)
        beneficiary = None if state.beneficiary is None else Address(state.beneficiary)
        if chain.settings.beneficiary != beneficiary:
            settings = msgspec.structs.replace(chain.settings, beneficiary=beneficiary)
            chain.ledger.settings = settings
        if self._fees is not None:
            if state.l1_gas_price is not None:
                self._fees.observe(state.l1_gas_price)
            if state.ether_price is not None:
                self._fees.set_ether_price(EtherPrice.unpack(state.ether_price))
        batched = -1 if before is None else min(before.batched, _missed(before, state).batched)
        if state.batched > batched:
            self._on_batch(batched + 1, state.batched)


def _missed(before: ChainState, state: ChainState) -> Revert:
    """Return one revert that stands for all between two states, to their lowest blocks."""
    known = before.reverts[-1].serial if before.reverts else 0
    missed = [revert for revert in state.reverts if revert.serial > known]
    if missed and missed[0].serial != known + 1:
        return Revert(known, -1, -1)
    return Revert(
        known,
        min((revert.number for revert in missed), default=before.head),
        min((revert.batched for revert in missed), default=before.batched),
    )
