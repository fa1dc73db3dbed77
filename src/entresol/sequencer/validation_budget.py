"""Bound the time that failed validations take, in total and for each that has let one fail."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import ValidationsThrottled
from entresol.primitives.bounded_map import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.execution.involved import Culprit, Involved
    from entresol.primitives.values import Address

_BURST_SECONDS: Final = 5.0
"""A bucket holds what its rate gives in so much time."""
_MAX_KNOWN: Final = 4_096


class _Lane(NamedTuple):
    """Seconds of a worker that failed validations may take in a second: of one culprit, and in total."""

    each: float
    total: float


_NEW: Final = _Lane(each=0.002, total=0.01)
_KNOWN: Final = _Lane(each=0.02, total=0.05)
"""Of senders that have passed a validation before, so that a flood of others does not keep them out.

Each has its own failures to answer for, whoever is to blame. Only who has failed since it passed last shares the total.
"""


class ValidationBudget:
    """Leaky buckets of worker time that failed validations have taken, after the reputation of ERC-7562.

    Remembers: time by culprit, and senders that have passed, up to a number of each. Persists: nothing. Fails: with
    `ValidationsThrottled`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget all addresses, and what they have taken."""
        self._totals = {_NEW: _Bucket(), _KNOWN: _Bucket()}
        self._each: dict[_Lane, BoundedMap[Culprit, _Bucket]] = {
            lane: BoundedMap(_MAX_KNOWN) for lane in (_NEW, _KNOWN)
        }
        self._has_passed_last: BoundedMap[Address, bool] = BoundedMap(_MAX_KNOWN)

    @property
    def is_unused(self) -> bool:
        """Whether no validation has failed."""
        return not any(map(len, self._each.values()))

    def check(self, involved: Involved) -> float:
        """Reject a transaction if failed validations have taken too much time; return the part that is left of it.

        The least of its buckets counts.
        """
        lane, now = self._lane(involved.sender), self._clock()
        left = 1.0
        if not self._has_passed_last.get(involved.sender):
            left = self._totals[lane].left(lane.total, now)
        if left <= 0:
            raise ValidationsThrottled(None)
        buckets = self._each[lane]
        payer = involved.payer if lane is _NEW else None
        for culprit in ((involved.sender,), payer):
            bucket = None if culprit is None else buckets.get(culprit)
            if culprit is None or bucket is None:
                continue
            left = min(left, bucket.left(lane.each, now))
            if left <= 0:
                raise ValidationsThrottled(culprit[0])
        return left

    def passed(self, involved: Involved) -> None:
        """Record a validation that has succeeded."""
        self._has_passed_last.put(involved.sender, True)  # noqa: FBT003  # the value of a map

    def failed(self, involved: Involved, error: Exception, seconds: float) -> None:
        """Record a validation that has failed after some time."""
        lane, now = self._lane(involved.sender), self._clock()
        self._totals[lane].fill(seconds, lane.total, now)
        buckets, culprits = self._each[lane], involved.responsible(error)
        if lane is _KNOWN:
            culprits = ((involved.sender,),)
            self._has_passed_last.put(involved.sender, False)  # noqa: FBT003  # the value of a map
        for culprit in culprits:
            bucket = buckets.get(culprit) or _Bucket()
            bucket.fill(seconds, lane.each, now)
            buckets.put(culprit, bucket)

    def _lane(self, sender: Address) -> _Lane:
        return _NEW if self._has_passed_last.get(sender) is None else _KNOWN


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
