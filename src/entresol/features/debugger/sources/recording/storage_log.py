"""The reads and writes of storage by an execution, step by step, and what failing frames undo of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


MAX_ACCESSES: Final = 20_000
"""Accesses to storage that are kept."""


StorageOwner: TypeAlias = str | int
"""The account whose storage it is; of a contract that is never created the number of the frame that tries to."""


class SlotKey(NamedTuple):
    """A slot of an account; transient storage has slots of its own."""

    owner: StorageOwner
    slot: int
    is_transient: bool = False

    @property
    def address(self) -> str | None:
        """The account; None for a contract that is never created."""
        return address_of(self.owner)


def address_of(owner: StorageOwner) -> str | None:
    """Return the account that owns a storage; None for a contract that is never created."""
    return owner if isinstance(owner, str) else None


class SlotAccess(NamedTuple):
    """A step that read or wrote a slot, or the end of a frame that undid what it had written."""

    step: int
    key: SlotKey
    before: int
    value: int


class SlotValue(NamedTuple):
    """A slot at a step: its value when the transaction started, and now."""

    key: SlotKey
    before: int
    value: int


class SlotLog:
    """The accesses of one execution, in their order."""

    def __init__(self, value_before: Callable[[SlotKey], int]) -> None:
        """Start on the state that the transaction was executed on."""
        self._value_before = value_before
        self._accesses: list[SlotAccess] = []
        self._values: dict[SlotKey, int] = {}
        self._undo: list[SlotAccess] = []
        self._marks: list[int] = []
        self.complete_until: int | None = None
        """The step from which on accesses are missing."""

    def __len__(self) -> int:
        return len(self._accesses)

    def enter(self) -> None:
        """Enter a frame."""
        self._marks.append(len(self._undo))

    def leave(self, step: int, *, failed: bool) -> None:
        """Leave the innermost frame after its last step, and undo its writes if it has failed."""
        mark = self._marks.pop()
        if not failed:
            return
        for access in reversed(self._undo[mark:]):
            self._add(SlotAccess(step, access.key, access.value, access.before))
        del self._undo[mark:]

    def read(self, step: int, key: SlotKey) -> None:
        """Note that a step has read a slot."""
        value = self._value(key)
        self._add(SlotAccess(step, key, value, value))

    def write(self, step: int, key: SlotKey, value: int) -> SlotAccess:
        """Note that a step has written a slot; return how it has changed."""
        access = SlotAccess(step, key, self._value(key), value)
        self._undo.append(access)
        self._add(access)
        return access

    def stop(self, step: int) -> None:
        """Note that accesses are not known from a step on."""
        if self.complete_until is None:
            self.complete_until = step

    def before(self, step: int, owner: StorageOwner) -> Iterator[SlotValue] | None:
        """Yield the slots of an account that were used before a step, the latest first; None if some may be missing."""
        if self.complete_until is not None and step > self.complete_until:
            return None
        found: dict[SlotKey, SlotValue] = {}
        for access in self._accesses:
            if access.step >= step:
                break
            if access.key.owner == owner:
                first = found.pop(access.key, access)
                found[access.key] = SlotValue(access.key, first.before, access.value)
        return reversed(found.values())

    def _value(self, key: SlotKey) -> int:
        value = self._values.get(key)
        if value is None:
            value = 0 if key.is_transient or key.address is None else self._value_before(key)
            self._values[key] = value
        return value

    def _add(self, access: SlotAccess) -> None:
        self._values[access.key] = access.value
        if len(self._accesses) < MAX_ACCESSES:
            self._accesses.append(access)
        else:
            self.stop(access.step)
