"""What a block executes in vain: transactions that it rejects, and that nobody pays for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import AccountRejection

if TYPE_CHECKING:
    from entresol.errors import InvalidTransaction
    from entresol.primitives.transactions import Transaction

MAX_GAS: Final = 3_000_000
MAX_SECONDS: Final = 0.05
"""How much gas and time of a block may go to what it rejects; the rest waits for the next block."""


class RejectedTransaction(NamedTuple):
    """A transaction that is not valid in a block, why, and how long it took to find out."""

    transaction: Transaction
    error: InvalidTransaction
    seconds: float = 0.0


class RejectedWork:
    """Counts the gas and the time of what a block executes in vain."""

    def __init__(self) -> None:
        self._gas = 0
        self._seconds = 0.0

    @property
    def is_spent(self) -> bool:
        """Whether the block has executed enough in vain."""
        return self._gas >= MAX_GAS or self._seconds >= MAX_SECONDS

    def add(self, gas: int, seconds: float = 0.0) -> None:
        """Count work that was in vain."""
        self._gas += gas
        self._seconds += seconds

    def add_rejected(self, rejected: RejectedTransaction) -> None:
        """Count a rejected transaction: the gas of its steps, if it runs in steps."""
        error = rejected.error
        self.add(error.gas if isinstance(error, AccountRejection) else 0, rejected.seconds)
