"""What an example is: the parameters of one call, and what is called before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from docs.tools.recording import World

RESULT: Final = "(result)"


class Call(msgspec.Struct, frozen=True):
    """A method and its parameters."""

    method: str
    params: tuple[Any, ...] = ()


class Example(msgspec.Struct, frozen=True):
    """The parameters of a call, its preparatory calls, and whether it is rejected."""

    params: tuple[Any, ...]
    before: tuple[Call, ...] = ()
    rejected: bool = False


def call(method: str, *params: Any) -> Call:
    """Return a preparatory call of an example."""
    return Call(method, params)


def example(*params: Any, before: tuple[Call, ...] = (), rejected: bool = False) -> Example:
    """Return an example with these parameters."""
    return Example(params, before, rejected)


MANUAL: Final = call("evm_setAutomine", False)
"""No block is sealed from now on."""


def pending_transfer(world: World) -> tuple[Call, ...]:
    """Return the calls after which a transfer waits in the pool."""
    return MANUAL, call("eth_sendRawTransaction", world.next_transfer)
