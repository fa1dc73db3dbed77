"""Follow the roots of all chains on L1, and have the chain import those of others."""

from __future__ import annotations

import logging
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol._native import keccak256
from entresol.chain.journal import StoreJournal
from entresol.chain.logs import find_logs
from entresol.errors import InteropRootsMismatch, LayerOneMismatch
from entresol.l1.layer_one import MAX_REORG_DEPTH, existing_block, is_canonical
from entresol.primitives.interop_roots import ROOT_ADDED, ROOT_STORAGE, InteropRoot
from entresol.primitives.values import Hash32
from entresol.rollup.deposits.deposit_watcher import BLOCKS_PER_STEP, DepositConfig
from entresol.rollup.interop.root_reader import RootReader
from entresol.rollup.interop.root_trees import MessageTrees
from entresol.rollup.message_tree import MessageTree
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping
from entresol.storage.log_entries import RootsEntry
from entresol.storage.log_index import LogQuery
from entresol.storage.root_table import RootCursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.rollup.interop.root_reader import MessageRootContract, RootRange
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


log = logging.getLogger(__name__)

PERSIST_BLOCKS: Final = 1_000
"""After so many L1 blocks without a root the cursor is stored all the same, so that a restart does not read them."""


class _Position(NamedTuple):
    """A block of L1 up to which the trees are known."""

    block: int
    block_hash: Hash32
    trees: MessageTrees


class RootFollower(Stepping):
    """Follows the roots of L1, and stores what proofs and imports need of them.

    Persists: the position with its trees, the roots to import and the paths of the chain's own batches, in one entry.
    Without it L1 is read again. Fails: with `LayerOneUnreachable`, with `LayerOneMismatch` if the responses of L1
    contradict each other, or roots that were imported; `run` logs and retries.
    """

    def __init__(
        self,
        chain: Chain,
        sequencer: Sequencer,
        contract: MessageRootContract,
        l1_chain_id: int,
        config: DepositConfig | None = None,
        *,
        journal: Journal | None = None,
    ) -> None:
        self._chain = chain
        self._table = chain.batches.roots
        self._journal = journal or StoreJournal(chain.batches)
        self._l1 = contract.l1
        self._reader = RootReader(contract, l1_chain_id, chain.rules.chain_id)
        self._config = config or DepositConfig()
        self.importer = RootImporter(chain, sequencer, l1_chain_id)
        self._position: _Position | None = None
        self._stored: RootCursor | None = None
        self._earlier: list[_Position] = []
        self._failures = 0
        self._is_doubted = False
        self._steps = StepLoop(
            self._poll,
            log,
            failing="cannot follow the roots of other chains",
            recovered="following the roots of other chains again",
            backoff=Backoff(2 * self._config.poll_seconds),
            wait=self._l1.wait_for_block,
        )

    @property
    def block(self) -> int:
        """The L1 block up to which roots are read."""
        return 0 if self._position is None else self._position.block

    async def _poll(self) -> float:
        return 0.0 if await self.step() else self._config.poll_seconds

    async def step(self) -> bool:
        """Read some blocks of L1, and queue the roots that they have; return whether there are more."""
        removals = self._chain.use.removals
        position = await self._valid_position()
        config = self._config
        head = await self._l1.block_number(config.finality)
        confirmed = head - config.confirmations
        last = min(confirmed, position.block + BLOCKS_PER_STEP)
        if last > position.block:
            if config.confirmations:
                # Confirmations are counted by blocks that there are.
                await existing_block(self._l1, head)
            position = await self._advance(position, last, removals)
        if self._chain.use.removals == removals:
            self.importer.fill(position.block)
        return position.block < confirmed

    async def _advance(self, position: _Position, last: int, removals: int) -> _Position:
        """Read up to a block of L1, and return the position there."""
        try:
            found = await self._reader.read(position.trees, position.block + 1, last)
        except InteropRootsMismatch:
            # If that is not over at the second attempt, a node may have lied before.
            self._failures += 1
            self._is_doubted = self._failures > 1
            raise
        # No await from here on until it is stored, so that the chain cannot be reverted in between.
        if self._chain.use.removals != removals:
            # A development L1 is replaced with the chain: what was found may be gone.
            return position
        self._check_batches(found)
        self.importer.check(found.first, found.last.number, found.roots)
        self._failures = 0
        reached = _Position(found.last.number, found.last.hash, found.trees)
        if self._is_worth_storing(position, found):
            await self._store(found.first, reached, found)
            if found.trees != position.trees:
                self._earlier = [*self._earlier[1 - MAX_REORG_DEPTH :], position]
        self._position = reached
        return reached

    def _is_worth_storing(self, position: _Position, found: RootRange) -> bool:
        if self._stored is None or found.trees != position.trees or found.roots or found.paths:
            return True
        is_far = found.last.number - self._stored.block >= PERSIST_BLOCKS
        return is_far or bool(self._table.read(found.first, found.last.number, 1))

    def _check_batches(self, found: RootRange) -> None:
        """Raise `LayerOneMismatch` if L1 has appended another root for a batch than the chain has."""
        for number, path in found.paths:
            batch = self._chain.batches.get(number)
            if batch is None:
                continue
            root = Hash32(batch.message_root)
            if path.left_out:
                logs = self._chain.batches.logs(number)
                root = MessageTree.of_logs(logs, path.left_out).root
            if root != path.batch_root:
                raise LayerOneMismatch(
                    f"{self._l1.name} has appended the root {path.batch_root} for batch {number}, but this chain has "
                    f"{root}"
                )

    # Positions

    async def _valid_position(self) -> _Position:
        """Return the position, or an earlier one after a reorg of L1 or a revert of the chain."""
        position = self._known_position()
        if position is None:
            position = await self._beginning()
        elif self._is_doubted:
            # What is stored stays until something else is known.
            self._is_doubted = False
            self._position = await self._earlier_position()
            return self._position
        elif await is_canonical(self._l1, position.block, position.block_hash):
            return position
        else:
            if self.problem is None:
                log.log(
                    self._l1.reorg_level,
                    "reorg or revert: reading the last roots on %s again",
                    self._l1.name,
                )
            position = await self._earlier_position()
        await self._store(position.block + 1, position)
        return position

    def _known_position(self) -> _Position | None:
        """Return the position in memory, unless the store is another one since; then that of the store."""
        stored = self._table.cursor()
        if stored is None:
            return None
        if self._position is None or stored != self._stored:
            block, block_hash, trees = stored
            self._position = _Position(block, block_hash, MessageTrees.decode(trees))
            self._stored, self._earlier = stored, []
        return self._position

    async def _earlier_position(self) -> _Position:
        """Return the last position before that L1 still has."""
        while self._earlier:
            position = self._earlier.pop()
            if await is_canonical(self._l1, position.block, position.block_hash):
                return position
        return await self._beginning()

    async def _beginning(self) -> _Position:
        """Return the position after which logs are read first."""
        first, trees = await self._reader.begin()
        block = await existing_block(self._l1, first)
        self._earlier = []
        return _Position(first, block.hash, trees)

    async def _store(self, first: int, reached: _Position, found: RootRange | None = None) -> None:
        """Persist a position, and what is between `first` and it."""
        cursor = RootCursor(reached.block, reached.block_hash, reached.trees.encode())
        roots, paths = ((), ()) if found is None else (found.roots, found.paths)
        await self._journal.write(RootsEntry.of(first, cursor, roots, paths))
        self._position, self._stored = reached, cursor
