"""Declare an RPC method once, by its signature and docstring.

`@method` only marks a function. A dispatcher collects the marked functions of the namespace objects it is given,
so nothing depends on which modules were imported, and one process may serve many chains.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import Enum, StrEnum, auto
from typing import Any, Final, ParamSpec, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from entresol.errors import EntresolError

_P = ParamSpec("_P")
_R = TypeVar("_R")

LongCall: TypeAlias = Callable[[Any, Raw], Awaitable[Any]]
"""Serves a call of an object, given its parameters as JSON."""

MARK: Final = "__rpc_method__"
"""The attribute of a function that has its `Mark`."""


class Namespace(Protocol):
    """An object whose marked methods are served under a prefix.

    With an attribute `acknowledges` that is true, its methods return true instead of null, as those of Hardhat do.
    """

    @property
    def prefix(self) -> str:
        """Return the prefix of method names: `eth` in `eth_chainId`."""


class ServedBy(Enum):
    """The process that serves a method on a replica: the replica itself, or the producer that it forwards to."""

    REPLICA = auto()
    """The replica: constants, sealed blocks by hash, everything else that no pending block or edit changes."""
    BLOCK = auto()
    """The replica, but the producer if the block is `pending`."""
    STORE = auto()
    """The replica if its store has the object, else the producer: it may be pending."""
    QUOTE = auto()
    """The producer, unless the replica knows the gas price of L1 as soon as the producer does."""
    ESTIMATE = auto()
    """The producer, for its pending block; a replica far away may take its own head instead."""


class Order(Enum):
    """How the calls of a method stand to others of their batch or their connection."""

    IN_TURN = auto()
    """They run in the order in which they come, even if their parameters are long."""
    GROUPED = auto()
    """So, too; and those that follow each other run together, before a call of another method starts."""
    LAST = auto()
    """They run after all others of their batch, so that they see what those did."""


class Past(StrEnum):
    """The way in which a fork handles a block at or below its anchor; other chains ignore it."""

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
    """The thing that a parameter names. A type says it by its attribute `names`, a plain value by its annotation."""

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


class Mark(msgspec.Struct, frozen=True):
    """The options of `@method`, attached to the function."""

    errors: tuple[type[EntresolError], ...]
    order: Order | None
    cached: bool
    short: bool
    getter: bool
    waits: bool
    served_by: ServedBy | None
    past: Past | None
    name: str | None
    long: LongCall | None


def method(  # noqa: PLR0913 - independent options
    *errors: type[EntresolError],
    order: Order | None = None,
    cached: bool = False,
    short: bool = False,
    getter: bool = False,
    waits: bool = False,
    served_by: ServedBy | None = None,
    past: Past | None = None,
    name: str | None = None,
    long: LongCall | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Mark a function of a namespace as a method.

    `errors`: the ones to document; with `ForeignOrigin`, web pages of other origins may not call it.
    `order`: how calls stand to others of their batch or connection.
    `cached`: a result stays valid until blocks change or are reverted, unless it is null or an argument is a block tag.
    `short`: long parameters are rejected before they are decoded.
    `getter`: its parameters are at most hashes, addresses, quantities, booleans and blocks, so that the crate may call
    it: with plain bytes and integers, and once more from Python if it raises.
    `waits`: a call may take as long as its client wants.
    `served_by`: which process serves it on a replica; without it the producer, as what changes the chain, the pool or filters.
    `past`: what a fork does if a parameter names something of the chain below it; a method with such a parameter says it.
    `long`: a function of the namespace that is awaited with long parameters as they are, and decodes them elsewhere.
    `name`: the full method name, if it does not follow from the function's; `{prefix}` in it is that of the namespace.
    """

    def mark(function: Callable[_P, _R]) -> Callable[_P, _R]:
        options = Mark(errors, order, cached, short, getter, waits, served_by, past, name, long)
        setattr(function, MARK, options)
        return function

    return mark
