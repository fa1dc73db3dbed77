"""Enqueue the priority transactions of L1 on the chain: each once, in order, and none that L1 does not have."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.journal import StoreJournal
from entresol.counted import counted
from entresol.errors import LayerOneMismatch, LayerOneRejected
from entresol.l1.contracts import read_as_of
from entresol.l1.layer_one import (
    MAX_REORG_DEPTH,
    L1Finality,
    check_blocks,
    existing_block,
    is_canonical,
)
from entresol.primitives.l1_to_l2_gas import body_gas
from entresol.primitives.values import Hash32
from entresol.rollup.batches import frontier_after, priority_hash
from entresol.rollup.priority_tree import Frontier, height_of
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping
from entresol.storage.batch_table import DepositCursor
from entresol.storage.log_entries import DepositsEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.l1.contracts import Deposit, ZkChain
    from entresol.l1.layer_one import L1Block
    from entresol.primitives.values import Hash32
    from entresol.sequencer.sequencer import Sequencer


class DepositRange(msgspec.Struct, frozen=True):
    """The deposits of a range of L1 blocks."""

    first: int
    last: L1Block
    deposits: Sequence[Deposit]
    total: int | None
    """The contract's count of deposits at the last block; None if L1 no longer has that block's state."""

    def missing(self, next_id: int) -> int | None:
        """Return the first id from `next_id` on that is missing in the range; None if it is complete."""
        for deposit in self.deposits:
            if deposit.priority_id > next_id:
                return next_id
            if deposit.priority_id == next_id:
                next_id += 1
        return None if self.total is None or next_id >= self.total else next_id


class DepositReader:
    """Reads the deposits of one chain.

    The nodes behind one URL may lag or be on different forks, and L1 may reorg between two requests, so each log must
    be in a block that L1 still has, and the contract's own count is read with the logs. A deposit with more gas than
    a block has must have been allowed by the contract.
    """

    def __init__(self, contract: ZkChain, gas_limit: int) -> None:
        self._contract = contract
        self._gas_limit = gas_limit
        self._l1 = contract.l1

    async def read(self, first: int, last: int) -> DepositRange:
        """Return the deposits from block `first` to block `last`."""
        block = await existing_block(self._l1, last)
        deposits = await self._contract.deposits(first, last)
        total = await self.total_at(block.number, block.hash)
        if total is None and await self._l1.block_number() - last <= MAX_REORG_DEPTH:
            raise LayerOneMismatch(f"{self._l1.name} has no state of block {last} at the moment")
        places = [(deposit.block, deposit.block_hash) for deposit in deposits]
        await check_blocks(self._l1, first, block, places)
        await self._check_gas(deposits)
        return DepositRange(first, block, deposits, total)

    async def total_at(self, number: int, block_hash: Hash32 | None = None) -> int | None:
        """Return the contract's count of deposits at a block; None if L1 does not have that block's state."""
        blocks = (number,) if block_hash is None else (block_hash, number)
        try:
            return await read_as_of(self._contract.total_priority_transactions, *blocks)
        except LayerOneRejected:
            return None
        except LayerOneMismatch:
            # The contract did not exist then.
            return 0

    async def _check_gas(self, deposits: Sequence[Deposit]) -> None:
        """Raise `LayerOneMismatch` if the contract cannot have accepted a deposit."""
        most: dict[int, int] = {}
        for deposit in deposits:
            if deposit.payload.gas_limit > self._gas_limit:
                gas = body_gas(deposit.payload)
                most[deposit.block] = max(most.get(deposit.block, 0), gas)
        for block, gas in most.items():
            if gas > self._gas_limit and not await self._has_allowed(gas, block):
                raise LayerOneMismatch(
                    f"{self._l1.name} has a deposit of {gas} gas in block {block}, which its contract does not allow"
                )

    async def _has_allowed(self, gas: int, block: int) -> bool:
        """Return whether the contract allowed so much gas in a block, before or after it: an admin may change it.

        Without the state of the block nobody knows; what exceeds a block is included as failed.
        """
        for number in (block, block - 1):
            if number < self._contract.first_block:
                continue
            try:
                if gas <= await self._contract.priority_tx_max_gas(number):
                    return True
            except LayerOneRejected:
                return True
        return False


log = logging.getLogger(__name__)

BLOCKS_PER_STEP: Final = 5_000
MAX_QUEUED: Final = 10_000
"""How many deposits may be pending on L2 before no more are read."""
_REWIND_GROWTH: Final = 4


class DepositTree:
    """L1's priority tree after the deposits of the chain, with those that are pending.

    The contract keeps each root that its tree ever had, so that the state of any later block is enough: no content,
    order or number of deposits passes that L1 has not had.
    """

    def __init__(self, chain: Chain, contract: ZkChain) -> None:
        self._chain = chain
        self._contract = contract
        self._known: tuple[int, Frontier] | None = None

    @property
    def next_id(self) -> int:
        """The id of the next deposit, after those that are pending."""
        last = self._chain.filler.priority.last
        return self._chain.blocks.next_priority_id() if last is None else last.payload.nonce + 1

    async def check(self, deposits: Sequence[Deposit], last: L1Block) -> None:
        """Raise `LayerOneMismatch` unless the contract has had the tree with these deposits, as of a block of L1.

        Those that the chain has already are passed over; the others follow each other.
        """
        removals = self._chain.use.removals
        before = self._frontier()
        new = [
            deposit.payload.hash() for deposit in deposits if deposit.priority_id >= before.count
        ]
        if not new:
            return
        after = before.extend(new)
        root = after.root()
        if not await self._contract.is_priority_root(root, height_of(after.count), last):
            raise LayerOneMismatch(
                f"the logs of {self._contract.l1.name} up to block {last.number} have other deposits than its contract: "
                f"{_named(before.count, after.count)} would make the root {root}, which the contract never had"
            )
        self._known = removals, after

    def _frontier(self) -> Frontier:
        """Return the tree after the deposits of the chain and of its queue."""
        if self._known is not None:
            removals, known = self._known
            if removals == self._chain.use.removals and known.count == self.next_id:
                return known
        blocks, batch = self._chain.blocks, self._chain.batches.last()
        included = Frontier() if batch is None else frontier_after(blocks, batch)
        later = range(included.count, blocks.next_priority_id())
        found = included.extend(priority_hash(blocks, number) for number in later)
        return found.extend(deposit.hash for deposit in self._chain.filler.priority)


def _named(first: int, end: int) -> str:
    return f"deposit {first}" if end == first + 1 else f"deposits {first} to {end - 1}"


class DepositConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how often deposits are read."""

    confirmations: int = 0
    """How many L1 blocks must follow the block of a deposit."""
    finality: L1Finality = "latest"
    """The last L1 block, from which confirmations are counted."""
    poll_seconds: float = 1.0


class DepositWatcher(Stepping):
    """Enqueues the priority transactions of L1 on the chain.

    Persists: the cursor, only to save reading, and only where the contract's count confirms that no deposit before it
    is missing. The id of the next deposit follows from the chain's own blocks, so that a crash, a reorg of L1 or a
    revert of the chain neither repeats nor skips one. Fails: with `LayerOneUnreachable`, or with `LayerOneMismatch`
    if L1 has other deposits than the chain has executed, if the deposits in its logs are not those of the contract's
    tree, or if its responses contradict each other; `run` logs and retries.
    """

    def __init__(
        self,
        chain: Chain,
        sequencer: Sequencer,
        contract: ZkChain,
        config: DepositConfig | None = None,
        *,
        journal: Journal | None = None,
    ) -> None:
        self._chain = chain
        self._sequencer = sequencer
        self._journal = journal or StoreJournal(chain.batches)
        self._l1 = contract.l1
        self._contract = contract
        self._reader = DepositReader(contract, chain.rules.gas_limit)
        self._tree = DepositTree(chain, contract)
        self._config = config or DepositConfig()
        self._cursor: DepositCursor | None = None
        self._gaps = 0
        self._origins: dict[bytes, tuple[int, Hash32]] = {}
        self._steps = StepLoop(
            self._poll,
            log,
            failing="cannot read deposits",
            recovered="reading deposits again",
            backoff=Backoff(2 * self._config.poll_seconds),
            wait=self._l1.wait_for_block,
        )

    @property
    def next_id(self) -> int:
        """The id of the next deposit, after those that are pending."""
        return self._tree.next_id

    async def step(self) -> int:
        """Read some blocks of L1, and return how many new deposits they have."""
        removals = self._chain.use.removals
        await self._drop_reorged()
        if len(self._chain.filler.priority) >= MAX_QUEUED:
            return 0
        config = self._config
        head = await self._l1.block_number(config.finality)
        confirmed = head - config.confirmations
        cursor = await self._valid_cursor(confirmed)
        if config.confirmations and confirmed > cursor.block:
            # Confirmations are counted by blocks that there are.
            await existing_block(self._l1, head)
        found = await self._read(cursor, confirmed)
        if found is None:
            return 0
        # No await from here on, so that the chain cannot be reverted in between.
        if self._chain.use.removals != removals:
            # A development L1 is replaced with the chain: what was found may be gone.
            return 0
        if found.missing(self.next_id) is not None:
            raise self._missing(found)
        enqueued = self._enqueue(found.deposits)
        self._cursor = DepositCursor(found.last.number, found.last.hash, self.next_id)
        if found.total is not None:
            self._gaps = 0
            if not self._chain.filler.priority:
                block, block_hash, next_id = self._cursor
                entry = DepositsEntry(block, bytes(block_hash), next_id)
                await self._journal.write(entry)
        return enqueued

    async def _poll(self) -> float:
        return 0.0 if await self.step() else self._config.poll_seconds

    # Reading

    async def _read(self, cursor: DepositCursor, confirmed: int) -> DepositRange | None:
        """Read blocks after the cursor, or after an earlier one if the next deposit is before it."""
        distance = MAX_REORG_DEPTH
        while True:
            last = min(confirmed, cursor.block + BLOCKS_PER_STEP)
            if last <= cursor.block:
                return None
            found = await self._reader.read(cursor.block + 1, last)
            if found.missing(self.next_id) is None:
                for deposit in found.deposits:
                    if deposit.priority_id < self.next_id:
                        self._check_executed(deposit)
                await self._tree.check(found.deposits, found.last)
                return found
            if not await self._is_past_next(cursor):
                self._gaps += 1
                raise self._missing(found)
            cursor = self._before(cursor.block, distance)
            log.warning(
                "deposit %d is before the blocks that were read: reading %s again from block %d on",
                *(self.next_id, self._l1.name, cursor.block + 1),
            )
            distance *= _REWIND_GROWTH

    async def _is_past_next(self, cursor: DepositCursor) -> bool:
        """Return whether the next deposit is before the cursor, as after a revert, or if a node lied before."""
        if cursor.block < self._contract.first_block:
            return False
        total = await self._reader.total_at(cursor.block)
        # If L1 has no state of the block any more, what is still missing at the second attempt may be earlier.
        return self._gaps > 0 if total is None else total > self.next_id

    def _missing(self, found: DepositRange) -> LayerOneMismatch:
        counted = "" if found.total is None else f", and its contract counts {found.total}"
        return LayerOneMismatch(
            f"deposit {found.missing(self.next_id)} is missing on {self._l1.name}: the logs of blocks "
            f"{found.first} to {found.last.number} do not have it{counted}"
        )

    async def _valid_cursor(self, confirmed: int) -> DepositCursor:
        """Return the cursor, or an earlier one after a reorg of L1 or a revert of the chain."""
        cursor = self._cursor or self._chain.batches.deposit_cursor()
        if cursor is None:
            await self._check_total()
            return self._before(0, 1)
        if cursor.next_id <= self.next_id and await is_canonical(
            self._l1, cursor.block, cursor.block_hash
        ):
            return cursor
        if self.problem is None:
            log.log(
                self._l1.reorg_level,
                "reorg or revert: reading the last deposits on %s again",
                self._l1.name,
            )
        await self._check_total()
        # A development L1 can be reverted by any number of blocks.
        return self._before(min(cursor.block, confirmed), MAX_REORG_DEPTH)

    async def _check_total(self) -> None:
        """Raise `LayerOneMismatch` if L1 has fewer deposits than the chain."""
        sent = await self._contract.total_priority_transactions()
        if sent < self.next_id:
            raise LayerOneMismatch(
                f"{self._l1.name} has sent {counted(sent, 'transaction')}, but this chain has "
                f"{self.next_id} of it: it is another L1, or a reorg removed some"
            )

    def _before(self, block: int, distance: int) -> DepositCursor:
        """Return a cursor so many blocks before another, but not before the contract."""
        first = max(self._contract.first_block - 1, block - distance)
        return DepositCursor(first, Hash32.zero(), self.next_id)

    # The queue

    async def _drop_reorged(self) -> None:
        """Drop the pending deposits whose L1 block a reorg has removed, and all after them."""
        queue = self._chain.filler.priority
        self._origins = {
            deposit.hash: self._origins[deposit.hash]
            for deposit in queue
            if deposit.hash in self._origins
        }
        gone = set[tuple[int, Hash32]]()
        # Blocks before a canonical one are canonical, so checking the newest is mostly enough.
        for block in reversed(dict.fromkeys(self._origins.values())):
            if await is_canonical(self._l1, *block):
                break
            gone.add(block)
        # No await from here on, so that no block includes them in between.
        pending = list(queue)
        for index, transaction in enumerate(pending):
            if self._origins.get(transaction.hash) in gone:
                log.log(
                    self._l1.reorg_level,
                    "a reorg of %s removed deposit %d: dropping %d of %d pending deposits",
                    *(self._l1.name, transaction.payload.nonce, len(pending) - index, len(pending)),
                )
                queue.replace(pending[:index])
                return

    def _enqueue(self, deposits: Sequence[Deposit]) -> int:
        expected = first = self.next_id
        for deposit in deposits:
            if deposit.priority_id < first:
                continue
            transaction_hash = self._chain.enqueue(deposit.payload)
            self._origins[transaction_hash] = (deposit.block, deposit.block_hash)
            expected += 1
        if self._chain.filler.priority:
            self._sequencer.wake()
        return expected - first

    def _check_executed(self, deposit: Deposit) -> None:
        """Raise `LayerOneMismatch` if the chain executed another deposit with this id."""
        location = self._chain.blocks.locate_priority(deposit.priority_id)
        if location is None:
            return
        block = location.block_number
        executed = self._chain.blocks.record(block).transaction(location.transaction_index)
        if executed.hash != deposit.payload.hash():
            raise LayerOneMismatch(
                f"deposit {deposit.priority_id} on {self._l1.name} is not the one in block {block} "
                "of this chain: a reorg replaced confirmed blocks, or it is another L1"
            )
