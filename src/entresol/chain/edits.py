"""The inputs of the next block beside its parent: edits of the state, settings and the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import msgspec

from entresol._native import Overlay
from entresol.primitives.records import stored_changes
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Callable

    from entresol._native import Snapshot
    from entresol.execution.evm_env import BlockEnv
    from entresol.primitives.records import StoredChange


class PreparedEdit(NamedTuple):
    """A state and what an edit makes of it."""

    before: Snapshot | Overlay
    after: Overlay


class Edits:
    """The state edits since the last block; the record of the next one has them before its first transaction."""

    def __init__(self) -> None:
        self.state: Overlay | None = None
        """The state after the last block and the edits; None if there are none."""
        self.accounts = 0
        """How many accounts were edited, at most."""

    @property
    def exist(self) -> bool:
        """Whether there are any."""
        return self.state is not None

    def apply(
        self, latest: Snapshot, change: Callable[[Overlay], object], accounts: int = 1
    ) -> Overlay:
        """Apply `change` on top of `latest` and earlier edits, and return the state; an error changes nothing."""
        self.state = edited = self.edited(latest, change)
        self.accounts += accounts
        return edited

    def edited(self, latest: Snapshot, change: Callable[[Overlay], object]) -> Overlay:
        """Return the state that `apply` would lead to; any thread may call it."""
        edited = Overlay(latest) if self.state is None else self.state.fork()
        change(edited)
        return edited

    def stored(self) -> tuple[tuple[StoredChange, ...], tuple[bytes, ...]]:
        """Return the edits and their codes in the form of a record."""
        return stored_edits(self.state)

    def checkpoint(self) -> Overlay | None:
        """Return the edits for `restore`."""
        return None if self.state is None else self.state.fork()

    def restore(self, edited: Overlay | None, accounts: int = 0) -> None:
        """Restore what `checkpoint` returned, or take over an edit of some accounts; None drops all edits."""
        self.state = edited
        self.accounts = 0 if edited is None else self.accounts + accounts


def stored_edits(edited: Overlay | None) -> tuple[tuple[StoredChange, ...], tuple[bytes, ...]]:
    """Return edits and their codes in the form of a record; any thread may call it."""
    if edited is None:
        return (), ()
    changes = edited.changes()
    # Code that is removed is none: whoever derives the block does not have it either.
    return stored_changes(changes), tuple(filter(None, changes.codes.values()))


class BlockSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The values that replace those of the chain's rules; `base_fee` and `prevrandao` are those of the next block only."""

    gas_limit: int | None = None
    beneficiary: Address | None = None
    base_fee: int | None = None
    prevrandao: Hash32 | None = None

    def apply(self, env: BlockEnv) -> BlockEnv:
        """Return the environment of the next block with these values."""
        if self == _NOTHING_SET:
            return env
        given: dict[str, Any] = msgspec.structs.asdict(self)
        changed = {name: value for name, value in given.items() if value is not None}
        return msgspec.structs.replace(env, **changed)

    def after_block(self) -> Self:
        """Return the settings without those of the next block only."""
        if self.base_fee is None and self.prevrandao is None:
            return self
        return msgspec.structs.replace(self, base_fee=None, prevrandao=None)


_NOTHING_SET: Final = BlockSettings()
