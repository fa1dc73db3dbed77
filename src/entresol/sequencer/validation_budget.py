"""Bound the time that failed validations take, in total and for each that has let one fail."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from entresol.errors import ValidationsThrottled
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.execution.involved import Involved
    from entresol.primitives.values import Address

_Debtor: TypeAlias = "tuple[Address, ...]"
"""Who answers for time: a culprit, or a sender with the key that has signed."""

_BURST_SECONDS: Final = 5.0
"""A bucket holds what its rate gives in so much time."""
_MAX_KNOWN: Final = 4_096


class _Lane(NamedTuple):
    """Seconds of a worker that failed validations may take in a second: of one culprit, and in total."""

    each: float
    total: float


_NEW: Final = _Lane(each=0.002, total=0.01)
_KNOWN: Final = _Lane(each=0.02, total=0.05)
"""Of senders and keys that have passed a validation before, so that a flood of others does not keep them out.

Each has its own failures to answer for, whoever is to blame. Only who has failed since it passed last shares the total.
"""
_MAX_KEYS: Final = 4
"""How many keys of a sender are known."""


class ValidationBudget:
    """Leaky buckets of worker time that failed validations have taken, after the reputation of ERC-7562.

    Anybody can send rubbish in the name of a contract account, but only its owner signs with a key that it accepts. So
    a key that has passed before has a bucket of its own, beside that of its sender.
    Remembers: time by culprit, and keys that have passed, up to a number of each. Persists: nothing. Fails: with
    `ValidationsThrottled`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget all addresses, and what they have taken."""
        self._totals = {_NEW: _Bucket(), _KNOWN: _Bucket()}
        self._each: dict[_Lane, BoundedMap[_Debtor, _Bucket]] = {
            lane: BoundedMap(_MAX_KNOWN) for lane in (_NEW, _KNOWN)
        }
        self._has_passed_last: BoundedMap[_Debtor, bool] = BoundedMap(2 * _MAX_KNOWN)
        """Of those that have passed a validation, senders and keys, whether their last one has."""
        self._keys: BoundedMap[Address, tuple[Address, ...]] = BoundedMap(_MAX_KNOWN)
        """The keys that have passed for a sender, the last one last."""

    @property
    def is_unused(self) -> bool:
        """Whether no validation has failed."""
        return not any(map(len, self._each.values()))

    def check(self, involved: Involved) -> float:
        """Reject a transaction if failed validations have taken too much time; return the part that is left of it.

        The least of its buckets counts.
        """
        now, known = self._clock(), self._known(involved)
        lane = _NEW if known is None else _KNOWN
        left = 1.0
        if known is None or not self._has_passed_last.get(known):
            left = self._totals[lane].left(lane.total, now)
        if left <= 0:
            raise ValidationsThrottled(None)
        for debtor in ((involved.sender,), involved.payer) if known is None else (known,):
            bucket = None if debtor is None else self._each[lane].get(debtor)
            if bucket is None:
                continue
            left = min(left, bucket.left(lane.each, now))
            if left <= 0:
                raise ValidationsThrottled(involved.sender if debtor is None else debtor[0])
        return left

    def check_unread(self, involved: Involved) -> float:
        """Check a transaction before it is known who has signed it: the most counts that a key of its sender has."""
        keys = self._keys.get(involved.sender) or ()
        left, rejection = 0.0, None
        for signer in (None, *keys):
            try:
                left = max(left, self.check(involved._replace(signer=signer)))
            except ValidationsThrottled as error:
                rejection = rejection or error
        if rejection is not None and left <= 0:
            raise rejection
        return left

    def passed(self, involved: Involved) -> None:
        """Record a validation that has succeeded."""
        sender, signer = involved.sender, involved.signer
        self._has_passed_last.put((sender,), True)  # noqa: FBT003  # the value of a map
        if signer is None:
            return
        self._has_passed_last.put((sender, signer), True)  # noqa: FBT003  # the value of a map
        others = (it for it in self._keys.get(sender) or () if it != signer)
        self._keys.put(sender, (*others, signer)[-_MAX_KEYS:])

    def failed(self, involved: Involved, error: Exception, seconds: float) -> None:
        """Record a validation that has failed after some time."""
        known, now = self._known(involved), self._clock()
        lane = _NEW if known is None else _KNOWN
        self._totals[lane].fill(seconds, lane.total, now)
        buckets, debtors = self._each[lane], involved.responsible(error)
        if known is not None:
            debtors = (known,)
            self._has_passed_last.put(known, False)  # noqa: FBT003  # the value of a map
        for debtor in debtors:
            bucket = buckets.get(debtor) or _Bucket()
            bucket.fill(seconds, lane.each, now)
            buckets.put(debtor, bucket)

    def _known(self, involved: Involved) -> _Debtor | None:
        """Return who has passed before: the key that has signed for its sender, or else the sender."""
        sender, signer = involved.sender, involved.signer
        if signer is not None and signer in (self._keys.get(sender) or ()):
            return (sender, signer)
        return None if self._has_passed_last.get((sender,)) is None else (sender,)


class _Bucket:
    """Seconds that were spent, of which as many are forgotten in a second as the rate says."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._at = 0.0

    def left(self, rate: float, now: float) -> float:
        """Return the part of it that may be spent."""
        return 1 - self._level(rate, now) / (rate * _BURST_SECONDS)

    def fill(self, seconds: float, rate: float, now: float) -> None:
        """Spend some time."""
        self._spent, self._at = self._level(rate, now) + seconds, now

    def _level(self, rate: float, now: float) -> float:
        return max(0.0, self._spent - (now - self._at) * rate)
