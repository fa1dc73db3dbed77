"""Chains that a state file has replaced, to which checkpoints from before can revert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from entresol.storage.store import Store

MAX_REPLACED: Final = 4
"""How many replaced chains are held: each is a database of its own."""


class ReplacedStores:
    """The stores of the chains that were there before, by generation; the current chain's is that of the chain.

    Remembers: them, and the current generation. Persists: nothing, since they are temporary. Assumes: the thread that
    changes the chain.
    """

    def __init__(self) -> None:
        self.generation = 0
        """How many chains were there before the current one."""
        self._stores: dict[int, Store] = {}

    def __contains__(self, generation: int) -> bool:
        return generation in self._stores

    def add(self, store: Store) -> int | None:
        """Hold the store of the current generation, and begin the next; return the generation that is dropped for it."""
        self._stores[self.generation] = store
        self.generation += 1
        if len(self._stores) <= MAX_REPLACED:
            return None
        oldest = min(self._stores)
        self._stores.pop(oldest).close()
        return oldest

    def get(self, generation: int) -> Store | None:
        """Return the store of a generation, if it is held."""
        return self._stores.get(generation)

    def take(self, generation: int) -> Store:
        """Return the store of a generation, which is the current one now; later ones are dropped."""
        store = self._stores.pop(generation)
        for later in [it for it in self._stores if it > generation]:
            self._stores.pop(later).close()
        self.generation = generation
        return store

    def close(self) -> None:
        """Drop all of them."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
