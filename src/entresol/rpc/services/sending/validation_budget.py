"""Bound the time that failed validations take, in total and for each address that has let one fail."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import zk_parties
from entresol.errors import AccountRejection, ValidationsThrottled
from entresol.primitives.bounded_map import BoundedMap
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol.primitives.transactions import ZkTransaction

_BURST_SECONDS: Final = 5.0
"""A bucket holds what its rate gives in so much time."""
_MAX_KNOWN: Final = 4_096
_APPROVAL: Final = bytes.fromhex("949431dc")
_TOKEN: Final = slice(16, 36)
_OF_PAYMASTER: Final = ("paymaster", "charge")
_OF_TOKEN: Final = ("preparation", "rules")


class _Lane(NamedTuple):
    """Seconds of a worker that failed validations may take in a second: for one address, and in total."""

    each: float
    total: float


_NEW: Final = _Lane(each=0.002, total=0.01)
_KNOWN: Final = _Lane(each=0.02, total=0.05)
"""Of senders that have passed a validation before, so that a flood of others does not keep them out."""


class Involved(NamedTuple):
    """The addresses whose code a validation may run."""

    sender: Address
    paymaster: Address | None = None
    token: Address | None = None

    @classmethod
    def of(cls, payload: ZkTransaction) -> Involved:
        """Return the accounts of a transaction."""
        return cls._of(payload.sender, payload.payer, payload.paymaster_input)

    @classmethod
    def of_raw(cls, raw: bytes) -> Involved | None:
        """Return the accounts of a raw transaction of type 0x71; None if it is malformed."""
        parties = zk_parties(raw)
        if parties is None:
            return None
        sender, paymaster = Address(parties[0]), parties[1]
        if paymaster is None or not any(paymaster[0]):
            return cls(sender)
        return cls._of(sender, Address(paymaster[0]), paymaster[1])

    @classmethod
    def _of(cls, sender: Address, payer: Address, message: bytes) -> Involved:
        if payer == sender:
            return cls(sender)
        token = None
        if message.startswith(_APPROVAL) and len(message) >= _TOKEN.stop:
            token = Address(message[_TOKEN])
        return cls(sender, payer, token)

    def responsible(self, error: Exception) -> tuple[Address, ...]:
        """Return the accounts that let the validation fail, as far as the step shows them."""
        step = error.step if isinstance(error, AccountRejection) else ""
        if step in _OF_PAYMASTER and self.paymaster is not None:
            return (self.paymaster,)
        if step in _OF_TOKEN and self.token is not None:
            return (self.sender, self.token)
        return (self.sender,)


class ValidationBudget:
    """Leaky buckets of worker time that failed validations have taken, after the reputation of ERC-7562.

    Remembers: time by address, and senders that have passed, up to a number of each. Persists: nothing. Fails: with
    `ValidationsThrottled`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        """Forget all addresses, and what they have taken."""
        self._totals = {_NEW: _Bucket(), _KNOWN: _Bucket()}
        self._each: dict[_Lane, BoundedMap[Address, _Bucket]] = {
            lane: BoundedMap(_MAX_KNOWN) for lane in (_NEW, _KNOWN)
        }
        self._passed: BoundedMap[Address, Address] = BoundedMap(_MAX_KNOWN)

    @property
    def is_unused(self) -> bool:
        """Whether no validation has failed."""
        return not any(map(len, self._each.values()))

    def check(self, involved: Involved) -> float:
        """Reject a transaction if failed validations have taken too much time; return the part that is left of it.

        The least of its buckets counts.
        """
        lane, now = self._lane(involved.sender), self._clock()
        left = self._totals[lane].left(lane.total, now)
        if left <= 0:
            raise ValidationsThrottled(None)
        buckets = self._each[lane]
        for address in involved:
            bucket = None if address is None else buckets.get(address)
            if bucket is None:
                continue
            left = min(left, bucket.left(lane.each, now))
            if left <= 0:
                raise ValidationsThrottled(address)
        return left

    def passed(self, involved: Involved) -> None:
        """Record a validation that has succeeded."""
        self._passed.put(involved.sender, involved.sender)

    def failed(self, involved: Involved, error: Exception, seconds: float) -> None:
        """Record a validation that has failed after some time."""
        lane, now = self._lane(involved.sender), self._clock()
        self._totals[lane].fill(seconds, lane.total, now)
        buckets = self._each[lane]
        for address in involved.responsible(error):
            bucket = buckets.get(address) or _Bucket()
            bucket.fill(seconds, lane.each, now)
            buckets.put(address, bucket)

    def _lane(self, sender: Address) -> _Lane:
        return _NEW if self._passed.get(sender) is None else _KNOWN


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
