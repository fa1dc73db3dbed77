"""What the next block is built on: the head, the edits since then, the clock, and the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from entresol._native import Overlay, Snapshot
    from entresol.chain.block_settings import BlockSettings
    from entresol.chain.clock import Clock, ClockState
    from entresol.chain.edits import Edits
    from entresol.chain.ledger import Ledger
    from entresol.primitives.values import Hash32


class BuildState(NamedTuple):
    """What a block is built on; while it is equal, the block is still the next one."""

    parent: Hash32
    state: Snapshot | Overlay
    """The state with edits; each edit creates another object."""
    clock: ClockState
    settings: BlockSettings


class NextBlock:
    """The block after the head, before it has transactions.

    Remembers: nothing but its parts: settings are the ledger's. Assumes: the thread of the chain.
    """

    def __init__(self, ledger: Ledger, clock: Clock, edits: Edits) -> None:
        self.ledger = ledger
        self.clock = clock
        self.edits = edits

    @property
    def latest(self) -> Snapshot | Overlay:
        """The state after the last block and the edits since then."""
        edited = self.edits.state
        return self.ledger.latest if edited is None else edited

    @property
    def build_state(self) -> BuildState:
        """All that it is built on, without what is pending."""
        ledger = self.ledger
        return BuildState(ledger.head_hash, self.latest, self.clock.state, ledger.settings)

    def timestamp(self) -> int:
        """Return its timestamp if it is sealed now."""
        return self.clock.next_timestamp(self.ledger.head.timestamp)

    def base_fee(self) -> int:
        """Return its base fee."""
        ledger = self.ledger
        chosen = ledger.settings.base_fee
        return ledger.rules.fees.next(ledger.head) if chosen is None else chosen

    def blob_base_fee(self) -> int:
        """Return its base fee per blob gas."""
        return self.ledger.blob_fees.next_base_fee(self.ledger.head)
