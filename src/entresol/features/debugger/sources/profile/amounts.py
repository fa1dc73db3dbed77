"""Amounts of gas: how many there were, the least, the average, the median and the most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DISTINCT: Final = 1_024
"""Different amounts that are told apart; of more, the median is one of a range of amounts."""


class Amounts(msgspec.Struct):
    """Amounts of gas, counted."""

    count: int = 0
    total: int = 0
    least: int = 0
    most: int = 0
    distinct: dict[int, int] = {}
    """How often each amount was; those of a range are counted at its beginning."""
    width: int = 1
    """Amounts in a range."""

    def add(self, amount: int, times: int = 1) -> None:
        """Count an amount."""
        self.least = amount if not self.count else min(self.least, amount)
        self.most = max(self.most, amount)
        self.count += times
        self.total += amount * times
        self._put(amount, times)

    def merge(self, other: Amounts) -> None:
        """Count what another one has."""
        if not other.count:
            return
        self.least = other.least if not self.count else min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.count += other.count
        self.total += other.total
        self._widen(max(self.width, other.width))
        for amount, times in other.distinct.items():
            self._put(amount, times)

    @property
    def average(self) -> int:
        """The average, rounded."""
        return round(self.total / self.count) if self.count else 0

    @property
    def median(self) -> int:
        """The amount in the middle; of an even number of them the mean of the two there, rounded down."""
        middle = (self.count - 1) // 2, self.count // 2
        return sum(self._at(rank) for rank in middle) // 2 if self.count else 0

    def _at(self, position: int) -> int:
        for amount in sorted(self.distinct):
            position -= self.distinct[amount]
            if position < 0:
                return min(max(amount, self.least), self.most)
        return self.most

    def _put(self, amount: int, times: int) -> None:
        start = amount // self.width * self.width
        self.distinct[start] = self.distinct.get(start, 0) + times
        while len(self.distinct) > MAX_DISTINCT:
            self._widen(2 * self.width)

    def _widen(self, width: int) -> None:
        if width == self.width:
            return
        self.width, before, self.distinct = width, self.distinct, {}
        for amount, times in before.items():
            start = amount // width * width
            self.distinct[start] = self.distinct.get(start, 0) + times


def amounts_of(values: Iterable[tuple[int, int]]) -> Amounts:
    """Return amounts with how often each was."""
    amounts = Amounts()
    for amount, times in values:
        amounts.add(amount, times)
    return amounts
