"""Senders whose transactions a block of a fork cannot include yet, because they read what is not fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.listeners import Listeners
from entresol.primitives.transactions import PriorityTransaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from entresol.execution.limits import ColdTransaction
    from entresol.primitives.values import Address


class ColdFound(Exception):  # noqa: N818  # no error
    """Raised in place of sealing a block that would leave somebody out."""


class ColdSenders:
    """Whom the next blocks leave out until what they read is here: senders of the pool, and deposits.

    One that reads a slow remote holds up no block of others. Remembers: them, and what prevents the first deposit.
    Persists: nothing. Assumes: the thread of the chain. A chain that is no fork never has any.
    """

    def __init__(self) -> None:
        self._senders: dict[Address, Exception] = {}
        self.version = 0
        """Changes whenever a block may leave out others."""
        self.has_deposits = False
        """Whether the first deposit is left out, and so are all others."""
        self.problem: str | None = None
        """Why the first deposit cannot be executed; None once it was."""
        self.found: Listeners[[]] = Listeners()
        """Notified when somebody is left out who was not before."""

    def __len__(self) -> int:
        return len(self._senders) + self.has_deposits

    @property
    def senders(self) -> Mapping[Address, Exception]:
        """Those whose transactions of the pool are left out, as they are at any time, and why."""
        return self._senders

    def add(self, cold: Iterable[ColdTransaction]) -> None:
        """Leave out those whose transactions were cold in a block."""
        before = len(self)
        for it in cold:
            if isinstance(it.transaction.payload, PriorityTransaction):
                self.has_deposits = True
            else:
                self._senders[it.transaction.sender] = it.error
        if len(self) > before:
            self.version += 1
            self.found.notify()

    def discard(self, sender: Address) -> None:
        """Include the transactions of a sender again."""
        self._senders.pop(sender, None)
        self.version += 1

    def discard_deposits(self) -> None:
        """Include deposits again."""
        self.has_deposits = False
        self.version += 1
