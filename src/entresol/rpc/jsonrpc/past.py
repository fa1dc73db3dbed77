"""What a fork does with a parameter that names a block, a transaction or a range of the chain below it."""

from __future__ import annotations

from enum import Enum, StrEnum
from typing import Annotated, Any, NamedTuple, get_args, get_origin


class Past(StrEnum):
    """What a fork does with a block at or below its anchor; other chains ignore it."""

    REMOTE = "remote"
    """The remote's JSON is passed through: blocks, transactions, receipts, also those of the anchor itself."""
    STATE = "state"
    """So, too, of the states below the anchor; that of the anchor is ours, with what the fork laid over it."""
    SPLIT = "split"
    """A range: up to the anchor by the remote, above it here, joined."""
    EXECUTE = "execute"
    """It runs here, on the remote's state after the block."""
    REPLAY = "replay"
    """The transactions of the block run here once more, on the remote's state before it."""
    LOCAL = "local"
    """The remote is not asked: what is below the anchor is not there."""


class Named(Enum):
    """What a parameter names. A type says it by its attribute `names`, a plain value by its annotation."""

    BLOCK = "block"
    """A block by number, tag or hash."""
    NUMBER = "number"
    """A block by number alone."""
    BLOCK_HASH = "block hash"
    TRANSACTION = "transaction"
    """A transaction by hash."""
    RANGE = "range"
    """Blocks from one to another."""
    CONTEXT = "context"
    """A block, and how many of its transactions."""
    FILTER = "filter"
    """An installed filter, which has a range."""


class NamedParameter(NamedTuple):
    """Which argument of a method names something, and what."""

    position: int
    kind: Named


def named_by(hint: Any) -> tuple[Any, Named | None]:
    """Return a type without the annotation that says what its values name, and what they name."""
    if get_origin(hint) is Annotated and isinstance(kind := get_args(hint)[1], Named):
        return get_args(hint)[0], kind
    kinds = [kind for kind in get_args(hint) if kind is not type(None)] or [hint]
    found = getattr(kinds[0], "names", None) if len(kinds) == 1 else None
    return hint, found if isinstance(found, Named) else None
