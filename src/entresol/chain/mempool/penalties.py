"""Who has let transactions fail in blocks, for which nobody has paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import AccountRejection, Throttled, TransactionThrottled
from entresol.execution.involved import Culprit, Involved
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.transactions import ZkTransaction

if TYPE_CHECKING:
    from entresol.primitives.transactions import Transaction
    from entresol.primitives.values import Address, Hash32

MAX_FAILURES: Final = 3
THROTTLE_BLOCKS: Final = 100
"""After so many failures within so many blocks somebody is rejected, for as many blocks."""
_MAX_KNOWN: Final = 4_096


class _Failure(NamedTuple):
    """When a transaction was rejected by a block."""

    block: int
    hash: Hash32


class Penalties:
    """Rejects who lets transactions fail again and again when blocks are built, since nobody pays for that.

    A transaction that is sent again and fails again counts once for those who are to blame: anybody can send it. It is
    rejected itself then. Whoever has paid for a transaction, and let none fail since, is not rejected with a paymaster
    that others have failed with. `block` is the number of the head.
    """

    def __init__(self) -> None:
        self.block = 0
        self._failures: BoundedMap[Culprit, tuple[_Failure, ...]] = BoundedMap(_MAX_KNOWN)
        self._until: BoundedMap[Culprit, int] = BoundedMap(_MAX_KNOWN)
        self._rejected: BoundedMap[Hash32, tuple[int, ...]] = BoundedMap(_MAX_KNOWN)
        self._paid: BoundedMap[Address, bool] = BoundedMap(_MAX_KNOWN)

    def __len__(self) -> int:
        """Return how many have failed."""
        return max(len(self._failures), len(self._until), len(self._rejected))

    def copy(self) -> Penalties | None:
        """Return the same penalties, which later failures do not change; None if nobody has failed."""
        if not len(self):
            return None
        copied = Penalties()
        copied._failures = self._failures.copy()
        copied._until = self._until.copy()
        copied._rejected = self._rejected.copy()
        return copied

    def clear(self) -> None:
        """Forget all failures, and who has paid."""
        for known in (self._failures, self._until, self._rejected, self._paid):
            known.clear()

    def paid(self, sender: Address) -> None:
        """Record that a block has a transaction of a sender, for which somebody has paid."""
        self._paid.put(sender, True)  # noqa: FBT003  # the value of a map

    def has_paid(self, sender: Address) -> bool:
        """Return whether a sender has a transaction in a block, and has let none fail since; any thread may ask."""
        return self._paid.get(sender) is not None

    def record(self, transaction: Transaction, error: Exception) -> None:
        """Count a failure for the accounts that caused it."""
        payload = transaction.payload
        if not isinstance(error, AccountRejection) or not isinstance(payload, ZkTransaction):
            return
        times = self._recent(self._rejected.get(transaction.hash) or ())
        self._rejected.put(transaction.hash, (*times, self.block)[-MAX_FAILURES:])
        self._paid.pop(payload.sender)
        for culprit in Involved.of(payload).responsible(error):
            self._record(culprit, transaction.hash)

    def check(self, transaction: Transaction) -> None:
        """Reject a transaction that has failed too often, or of somebody who has."""
        payload = transaction.payload
        if not len(self) or not isinstance(payload, ZkTransaction):
            return
        times = self._recent(self._rejected.get(transaction.hash) or ())
        if len(times) >= MAX_FAILURES:
            raise TransactionThrottled(times[0] + THROTTLE_BLOCKS)
        self.check_involved(Involved.of(payload))

    def check_involved(self, involved: Involved) -> None:
        """Reject what involves somebody who has failed too often."""
        self._check((involved.sender,))
        if involved.payer is not None and not self.has_paid(involved.sender):
            self._check(involved.payer)

    def _check(self, culprit: Culprit) -> None:
        until = self._until.get(culprit)
        if until is not None and self.block < until:
            raise Throttled(culprit[0], until)

    def _record(self, culprit: Culprit, transaction_hash: Hash32) -> None:
        known = self._failures.get(culprit) or ()
        recent = [it for it in known if it.block > self.block - THROTTLE_BLOCKS]
        if any(it.hash == transaction_hash for it in recent):
            return
        failures = (*recent, _Failure(self.block, transaction_hash))
        self._failures.put(culprit, failures[-MAX_FAILURES:])
        if len(failures) >= MAX_FAILURES:
            self._until.put(culprit, self.block + THROTTLE_BLOCKS)

    def _recent(self, blocks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(it for it in blocks if it > self.block - THROTTLE_BLOCKS)
