"""Import the roots of L1: which ones the chain has, and which are next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.errors import InteropRootReplaced
from entresol.primitives.interop.roots import InteropRoot
from entresol.primitives.values import Hash32
from entresol.rollup.interop.imported_roots import LAST_BLOCK, ImportedRoots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.sequencer.sequencer import Sequencer

MAX_QUEUED: Final = 1_000
"""How many roots may be pending on the chain: those of ten blocks."""


class Contradiction(NamedTuple):
    """A root that the chain has imported, and that L1 has no more."""

    l1_block: int
    imported: Hash32
    actual: Hash32
    """That of L1 now; zero if there is none to import."""


class RootImporter:
    """Queues the roots of L1 for the next blocks, each once, oldest first.

    What is imported follows from the state of the chain, so that a crash, a reorg of L1 or a revert of the chain neither
    repeats nor skips one. Remembers: the contradiction, as long as there is one. Persists: nothing. Assumes: the thread
    that changes the chain. Fails: with `InteropRootReplaced` if L1 has replaced a root that was imported.
    """

    def __init__(self, chain: Chain, sequencer: Sequencer, l1_chain_id: int) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self._table = chain.batches.roots
        self.imported = ImportedRoots(chain, l1_chain_id)
        self.contradiction: Contradiction | None = None
        self.imported_block: int | None = None
        """The last L1 block whose root is imported, as of the last look."""
        self.imported_count = 0
        """How many were imported since the start."""

    @property
    def pending(self) -> int:
        """How many roots are queued."""
        return len(self._chain.filler.roots)

    def check(self, first: int, last: int, roots: Sequence[InteropRoot]) -> None:
        """Raise `InteropRootReplaced` if blocks of L1 have other roots than those that the chain has imported of them."""
        self.contradiction = self._contradiction(
            first, last, {root.block_number: root for root in roots}
        )
        if self.contradiction is not None:
            raise InteropRootReplaced(*self.contradiction)

    def _contradiction(
        self, first: int, last: int, roots: dict[int, InteropRoot]
    ) -> Contradiction | None:
        # What was read before a reorg is stored until it is read again.
        stored = self._table.read(first, last, last - first + 1)
        newest = self.imported.last() if roots else None
        last_imported = 0 if newest is None else newest.block_number
        for number in sorted({*roots, *(it.block_number for it in stored)}):
            imported = self.imported.get(number)
            actual = roots[number].root if number in roots else Hash32.zero()
            # One that is missing before one that is there was not on L1 when that was imported.
            is_skipped = not any(imported) and any(actual) and number < last_imported
            if is_skipped or (any(imported) and imported != actual):
                return Contradiction(number, imported, actual)
        return None

    def fill(self, last: int) -> None:
        """Queue the roots that are to be imported up to a block of L1."""
        queue = self._chain.filler.roots
        newest = self._table.last(last)
        if newest is None or any(self.imported.get(newest.block_number)):
            imported, wanted = newest, list[InteropRoot]()
        else:
            first = self.imported.first_missing(last)
            imported = self._table.last(first - 1)
            wanted = self._table.read(first, last, MAX_QUEUED)
        self._count(0 if imported is None else imported.block_number)
        queued = len(queue)
        if queued <= len(wanted) and queue.begins_with(wanted[:queued]):
            queue.extend(wanted[queued:])
        else:
            # A reorg or a revert; a block that is being written may have some of them.
            self._chain.flush()
            queue.replace(it for it in wanted if not any(self.imported.get(it.block_number)))
        if len(queue):
            self._sequencer.wake()

    def _count(self, imported: int) -> None:
        if self.imported_block is not None and imported > self.imported_block:
            new = self._table.read(self.imported_block + 1, imported, MAX_QUEUED)
            self.imported_count += len(new)
        self.imported_block = imported

    @property
    def first_contradicted_block(self) -> int | None:
        """The block of the chain that has imported a root which L1 has replaced: no batch with it may be committed."""
        if self.contradiction is None:
            return None
        found = self.imported.block_with(self.contradiction.l1_block)
        if found is not None:
            return found
        # One that was skipped: those after it were imported before.
        for it in self._table.read(self.contradiction.l1_block + 1, LAST_BLOCK, MAX_QUEUED):
            found = self.imported.block_with(it.block_number)
            if found is not None:
                return found
        return None
