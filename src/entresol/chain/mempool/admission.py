"""Whether a chain accepts new transactions at all, whatever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from entresol.errors import PoolRejection


class Condition(Protocol):
    """Something without which no transaction is accepted."""

    def rejection(self) -> PoolRejection | None:
        """Return why none is accepted now; it is asked for each transaction."""


class Admission:
    """Rejects what users send while a part of the node cannot keep up.

    What is in the pool stays there, and deposits do not pass here. Remembers: the conditions. Persists: nothing. Fails:
    with the rejection of the first condition that has one.
    """

    def __init__(self) -> None:
        self._conditions: tuple[Condition, ...] = ()

    def add(self, condition: Condition) -> None:
        """Ask a condition from now on."""
        self._conditions = (*self._conditions, condition)

    def remove(self, condition: Condition) -> None:
        """Do not ask a condition any more."""
        self._conditions = tuple(it for it in self._conditions if it is not condition)

    def check(self) -> None:
        """Raise why no transaction is accepted, if none is."""
        for condition in self._conditions:
            if (rejection := condition.rejection()) is not None:
                raise rejection
