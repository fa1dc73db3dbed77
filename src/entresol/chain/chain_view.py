"""Read a chain: its blocks, its state, its finality and the settings of blocks to come."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from entresol.chain.clock import Clock
from entresol.chain.edits import Edits
from entresol.chain.finality import BlockTag, Finality
from entresol.chain.ledger import Ledger
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol._native import Overlay, Snapshot
    from entresol.chain.block_settings import BlockSettings
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.genesis.stored_genesis import ExpectedGenesis
    from entresol.chain.rules import ChainRules
    from entresol.errors import StoreFailed
    from entresol.primitives.headers import Header
    from entresol.primitives.values import Address
    from entresol.storage.readers import BlockReader, BytecodeReader
    from entresol.storage.store import Store


class ChainView:
    """What a chain is now; `Chain` adds what changes it.

    Remembers: state edits since the last block and finality. Persists: sealed blocks, through the ledger.
    """

    def __init__(
        self,
        store: Store,
        rules: ChainRules,
        genesis: Genesis | ExpectedGenesis,
        clock: Clock | None = None,
    ) -> None:
        self.ledger = Ledger(store, rules, genesis)
        self.use = self.ledger.use
        self.blocks: BlockReader = store
        self.bytecodes: BytecodeReader = store
        self.batches = store.batches
        self.prices = store.prices
        self.open_logs = store.open_logs
        self.state_trie = self.ledger.trie
        self.rules = rules
        self.genesis = self.ledger.genesis
        self.clock = clock or Clock()
        self.finality = Finality(epoch_slots=rules.epoch_slots)
        self.instance_id = Hash32(secrets.token_bytes(Hash32.size))
        """Other each time the chain is opened, so that tools notice that what they know of it may be outdated."""
        self._edits = Edits()

    @property
    def head(self) -> Header:
        """The header of the last block."""
        return self.ledger.head

    @property
    def settings(self) -> BlockSettings:
        """What developers have set for blocks to come."""
        return self.ledger.settings

    @property
    def beneficiary(self) -> Address:
        """The account that gets the fees of the next block."""
        return self.settings.beneficiary or self.rules.beneficiary

    @property
    def failure(self) -> StoreFailed | None:
        """Why no block can be sealed at present; None if nothing prevents it."""
        return self.ledger.store.failure

    def recover(self) -> bool:
        """Try to seal blocks again after a failed write; return whether that is possible."""
        return self.ledger.store.recover()

    @property
    def number(self) -> int:
        """The number of the last block."""
        return self.ledger.head.number

    def resolve(self, block: int | BlockTag) -> int:
        """Return the number of a block; the pending block has the number after the head's."""
        return (
            self.finality.resolve(block, self.number, self.ledger.first)
            if isinstance(block, BlockTag)
            else block
        )

    @property
    def is_edited(self) -> bool:
        """Whether there are edits since the last block."""
        return self._edits.exist

    @property
    def latest(self) -> Snapshot | Overlay:
        """The state after the last block and the edits since then."""
        edited = self._edits.state
        return self.ledger.latest if edited is None else edited

    def state_after(self, block: int | BlockTag) -> Snapshot | Overlay:
        """Return the state after a sealed block; that of the head includes the edits since then."""
        number = self.resolve(block)
        return self.latest if number == self.number else self.ledger.state_after(number)

    def verify(self, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Re-execute every block; raise `ReplayMismatch` at the first that differs."""
        self.ledger.verify(progress)

    def next_blob_base_fee(self) -> int:
        """Return the base fee per blob gas of the next block."""
        return self.ledger.blob_fees.next_base_fee(self.ledger.head)

    def next_base_fee(self) -> int:
        """Return the base fee of the next block."""
        chosen = self.ledger.settings.base_fee
        return self.rules.fees.next(self.ledger.head) if chosen is None else chosen
