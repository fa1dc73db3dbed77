"""Follow the roots of all chains on L1, and have the chain import those of others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from entresol.chain.journal import StoreJournal
from entresol.errors import InteropRootsMismatch, LayerOneMismatch
from entresol.l1.layer_one import MAX_REORG_DEPTH, existing_block, is_canonical
from entresol.primitives.values import Hash32
from entresol.rollup.deposits.deposit_watcher import BLOCKS_PER_STEP, DepositConfig
from entresol.rollup.interop.root_importer import RootImporter
from entresol.rollup.interop.root_reader import RootReader
from entresol.rollup.interop.root_trees import MessageTrees
from entresol.rollup.message_tree import MessageTree
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping
from entresol.storage.log_entries import RootsEntry
from entresol.storage.root_table import RootCursor

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.rollup.interop.root_reader import MessageRootContract, RootRange
    from entresol.sequencer.sequencer import Sequencer

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
