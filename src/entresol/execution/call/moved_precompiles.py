"""Precompiles under state overrides: which of them moves, and which is replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache

from entresol._native import Rules
from entresol.errors import (
    DuplicatePrecompileMove,
    InvalidOverride,
    NotAPrecompile,
    PrecompileMovedToSelf,
)
from entresol.primitives.values import Address


def moved_precompiles(
    overridden: Mapping[Address, Address | None], rules: Rules
) -> dict[bytes, bytes | None]:
    """Return by address which precompile runs there now, by its usual address; None for none.

    `overridden` maps each overridden account to where its precompile moves, if anywhere. As in geth, an
    overridden account is no longer a precompile, so that it can have other code. The precompile replaces
    whatever is at its new address.
    """
    precompiles = _precompiles(rules.fork)
    moves = {at: to for at, to in overridden.items() if to}
    _check(moves, overridden, precompiles)
    replaced: dict[bytes, bytes | None] = {at: None for at in overridden if at in precompiles}
    return replaced | {to: at for at, to in moves.items()}


def _check(
    moves: Mapping[Address, Address],
    overridden: Mapping[Address, object],
    precompiles: frozenset[bytes],
) -> None:
    for address, destination in moves.items():
        if address not in precompiles:
            raise NotAPrecompile(address)
        if address == destination:
            raise PrecompileMovedToSelf(address)
    for destination, count in Counter(moves.values()).items():
        if count > 1:
            raise DuplicatePrecompileMove(destination)
        if destination in overridden:
            raise InvalidOverride(f"account {destination} is already overridden")


@cache
def _precompiles(fork: str) -> frozenset[bytes]:
    return frozenset(Rules(1, fork).precompiles)
