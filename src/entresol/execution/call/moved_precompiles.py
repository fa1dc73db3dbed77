"""Where precompiles are, if a question assumes them elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from entresol._native import Rules
from entresol.errors import InvalidOverride, MovedOntoItself, MovedTogether, NotAPrecompile
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from entresol.execution.call.overrides import StateOverride


def moved_precompiles(
    overrides: Mapping[Address, StateOverride], rules: Rules
) -> dict[bytes, bytes | None]:
    """Return which precompile runs at an address, by the address it is from; None for none any more.

    As geth has it: an account that is overridden is no precompile, so that its code can be another. The
    precompile runs where it is moved to, in place of what is there, or else nowhere.
    """
    precompiles = _precompiles(rules.fork)
    moves = {at: it.move_precompile_to for at, it in overrides.items() if it.move_precompile_to}
    _check(moves, overrides, precompiles)
    found: dict[bytes, bytes | None] = {at: None for at in overrides if at in precompiles}
    return found | {to: at for at, to in moves.items()}


def _check(
    moves: Mapping[Address, Address],
    overrides: Mapping[Address, StateOverride],
    precompiles: frozenset[bytes],
) -> None:
    for address, destination in moves.items():
        if address not in precompiles:
            raise NotAPrecompile(address)
        if address == destination:
            raise MovedOntoItself(address)
    for destination, count in Counter(moves.values()).items():
        if count > 1:
            raise MovedTogether(destination)
        if destination in overrides:
            raise InvalidOverride(f"account {destination} is already overridden")


@cache
def _precompiles(fork: str) -> frozenset[bytes]:
    return frozenset(Rules(1, fork).precompiles)
