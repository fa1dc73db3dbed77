"""Writes blocks of transactions, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.differential.kinds import (
    calls,
    creations,
    delegations,
    precompiles,
    storage,
    transfers,
)
from tests.support.differential.transactions import Signed
from tests.support.differential.world import Kind, World

KINDS: dict[str, Kind] = {
    **transfers.KINDS,
    **creations.KINDS,
    **storage.KINDS,
    **calls.KINDS,
    **precompiles.KINDS,
    **delegations.KINDS,
}
_SINCE = storage.SINCE | precompiles.SINCE | delegations.SINCE


def kinds_of(world: World) -> dict[str, Kind]:
    """Return the kinds that the world's fork knows."""
    return {n: kind for n, kind in KINDS.items() if world.since(_SINCE.get(n, "london"))}


def blocks(world: World, rounds: int, size: int) -> Iterator[list[Signed]]:
    """Write each kind `rounds` times, in random order, in blocks of `size`.

    A block is written when it is taken, so that the world has seen the one before.
    """
    names = list(kinds_of(world)) * rounds
    world.random.shuffle(names)
    for start in range(0, len(names), size):
        yield [world.sign(name, KINDS[name](world)) for name in names[start : start + size]]
