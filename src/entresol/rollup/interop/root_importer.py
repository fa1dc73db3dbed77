"""Import the roots of L1: which ones the chain has, and which are next."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import keccak256
from entresol.chain.logs import find_logs
from entresol.errors import LayerOneMismatch
from entresol.primitives.interop_roots import ROOT_ADDED, ROOT_STORAGE, InteropRoot
from entresol.primitives.values import Hash32
from entresol.storage.log_index import LogQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.sequencer.sequencer import Sequencer

LAST_BLOCK: Final = 2**63 - 1

MAX_QUEUED: Final = 1_000
"""How many roots may be pending on the chain: those of ten blocks."""


def imports_roots(chain: Chain) -> bool:
    """Return whether a chain has the contract of roots; a genesis of one's own may lack it."""
    return chain.latest.account(ROOT_STORAGE) is not None


class ImportedRoots:
    """The roots in the state of a chain; they are the first ones of those that are stored for import."""

    def __init__(self, chain: Chain, l1_chain_id: int) -> None:
        self._chain = chain
        self._l1_chain_id = l1_chain_id
        self._table = chain.batches.roots
        self._slots = keccak256(l1_chain_id.to_bytes(32) + bytes(32))

    def get(self, l1_block: int) -> Hash32:
        """Return the root that the chain has imported of a block of L1; zero if none."""
        slot = keccak256(l1_block.to_bytes(32) + self._slots)
        return Hash32(self._chain.latest.slot(ROOT_STORAGE, slot).rjust(32, b"\0"))

    def last(self) -> InteropRoot | None:
        """Return the last root that is imported among those stored."""
        newest = self._table.last(LAST_BLOCK)
        if newest is None or any(self.get(newest.block_number)):
            return newest
        return self._table.last(self.first_missing(newest.block_number) - 1)

    def first_missing(self, last: int) -> int:
        """Return the first L1 block up to `last` whose root is stored and not imported: before it all are."""

        def is_missing(number: int) -> bool:
            after = self._table.read(number, last, 1)
            return not after or not any(self.get(after[0].block_number))

        first = bisect_left(range(last + 1), x=True, key=is_missing)
        return self._table.read(first, last, 1)[0].block_number

    def block_with(self, l1_block: int) -> int | None:
        """Return the block of the chain that has imported the root of a block of L1; None without one."""
        words = (self._l1_chain_id.to_bytes(32), l1_block.to_bytes(32))
        query = LogQuery(
            addresses=frozenset({bytes(ROOT_STORAGE)}),
            topics=tuple(frozenset({topic}) for topic in (ROOT_ADDED, *words)),
        )
        blocks = self._chain.blocks
        found = next(find_logs(blocks, query, 0, self._chain.number, newest_first=True), None)
        return None if found is None else found.block_number


class Contradiction(NamedTuple):
    """A root that the chain has imported, and that L1 has no more."""

    l1_block: int
    imported: Hash32
    actual: Hash32
    """The root that L1 has now; zero if there is none to import."""


class RootImporter:
    """Queues the roots of L1 for the next blocks, each once, oldest first.

    What is imported follows from the state of the chain, so that a crash, a reorg of L1 or a revert of the chain
    neither repeats nor skips one. Fails: with `LayerOneMismatch` if L1 has replaced a root that was imported.
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
        """Raise `LayerOneMismatch` if blocks of L1 have other roots than those that the chain has imported of them."""
        self.contradiction = self._contradiction(
            first, last, {root.block_number: root for root in roots}
        )
        if self.contradiction is not None:
            l1_block, imported, actual = self.contradiction
            raise LayerOneMismatch(
                f"this chain has imported the root {imported} of L1 block {l1_block}, which has {actual} now: a reorg "
                "replaced confirmed blocks. No more roots are imported, and no batch with this one is committed"
            )

    def _contradiction(
        self, first: int, last: int, roots: dict[int, InteropRoot]
    ) -> Contradiction | None:
        # What was read before a reorg is stored until it is read again.
        stored = self._table.read(first, last, last - first + 1)
        newest = self.imported.last() if roots else None
        last_imported = 0 if newest is None else newest.block_number
        for number in sorted({*roots, *(root.block_number for root in stored)}):
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
            queue.replace(root for root in wanted if not any(self.imported.get(root.block_number)))
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
        for root in self._table.read(self.contradiction.l1_block + 1, LAST_BLOCK, MAX_QUEUED):
            found = self.imported.block_with(root.block_number)
            if found is not None:
                return found
        return None
