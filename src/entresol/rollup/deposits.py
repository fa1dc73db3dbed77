"""Read priority transactions from L1, and enqueue each on the chain once, in order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.journal import StoreJournal
from entresol.errors import DepositsMissing, LayerOneMismatch, LayerOneRejected
from entresol.l1.layer_one import MAX_REORG_DEPTH, L1Finality
from entresol.primitives.l1_to_l2_gas import body_gas
from entresol.primitives.values import Hash32
from entresol.rollup.deposit_tree import DepositTree
from entresol.rollup.step_loop import Backoff, StepLoop
from entresol.storage.batch_table import DepositCursor
from entresol.storage.replication.entries import DepositsEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.journal import Journal
    from entresol.l1.contracts import Deposit, ZkChain
    from entresol.l1.layer_one import L1Block
    from entresol.sequencer.sequencer import Sequencer


log = logging.getLogger(__name__)

BLOCKS_PER_STEP: Final = 5_000

MAX_QUEUED: Final = 10_000
"""How many deposits may be pending on L2 before no more are read."""

_REWIND_GROWTH: Final = 4


class DepositRange(msgspec.Struct, frozen=True):
    """The deposits of a range of L1 blocks."""

    first: int
    last: L1Block
    deposits: Sequence[Deposit]
    total: int | None
    """How many the contract counts up to the last block; None if L1 has no state of it any more."""

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

    The nodes behind one URL may lag or be on different forks, and L1 may reorg between two requests, so
    each log must be in a block that L1 still has, and the contract's own count is read with the logs. A deposit
    with more gas than a block has must have been allowed by the contract.
    Remembers and persists: nothing. Fails: as `LayerOne` does, and with `LayerOneMismatch` if responses
    contradict each other; a retry may help.
    """

    def __init__(self, contract: ZkChain, gas_limit: int) -> None:
        self._contract = contract
        self._gas_limit = gas_limit
        self._l1 = contract.l1

    async def read(self, first: int, last: int) -> DepositRange:
        """Return the deposits from block `first` to block `last`."""
        block = await self._l1.block(last)
        if block is None:
            raise LayerOneMismatch(f"{self._l1.name} has no block {last} at the moment")
        deposits = await self._contract.deposits(first, last)
        total = await self.total_at(block.number, block.hash)
        if total is None and await self._l1.block_number() - last <= MAX_REORG_DEPTH:
            raise LayerOneMismatch(f"{self._l1.name} has no state of block {last} at the moment")
        await self._check_blocks(first, deposits, block)
        await self._check_gas(deposits)
        return DepositRange(first, block, deposits, total)

    async def total_at(self, number: int, block_hash: Hash32 | None = None) -> int | None:
        """Return how many deposits the contract counts at a block; None if L1 has no state of it."""
        for block in (number,) if block_hash is None else (block_hash, number):
            try:
                return await self._contract.total_priority_transactions(block)
            except LayerOneRejected:
                # Not every node takes a hash, and only archive nodes have the state of old blocks.
                continue
            except LayerOneMismatch:
                # The contract did not exist then.
                return 0
        return None

    async def is_canonical(self, number: int, block_hash: Hash32) -> bool:
        """Return whether L1 has this block."""
        block = await self._l1.block(number)
        return block is not None and block.hash == block_hash

    async def _check_blocks(self, first: int, deposits: Sequence[Deposit], last: L1Block) -> None:
        """Raise `LayerOneMismatch` if a deposit is outside of the range, or in a block that L1 does not have."""
        blocks = {it.block: it.block_hash for it in deposits}
        blocks.setdefault(last.number, last.hash)
        for deposit in deposits:
            if deposit.block_hash != blocks[deposit.block] or not (
                first <= deposit.block <= last.number
            ):
                raise self._inconsistent(deposit.block)
        if blocks[last.number] != last.hash:
            raise self._inconsistent(last.number)
        # The last block is compared last: it was read before the logs.
        for number in sorted(blocks):
            is_recent = last.number - number <= MAX_REORG_DEPTH
            if is_recent and not await self.is_canonical(number, blocks[number]):
                raise self._inconsistent(number)

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

    def _inconsistent(self, block: int) -> LayerOneMismatch:
        return LayerOneMismatch(
            f"{self._l1.name} gives different versions of block {block}: a reorg, or nodes that disagree"
        )


class DepositConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how often deposits are read."""

    confirmations: int = 0
    """How many L1 blocks must follow the block of a deposit."""
    finality: L1Finality = "latest"
    """The last L1 block, from which confirmations are counted."""
    poll_seconds: float = 1.0


class DepositWatcher:
    """Enqueues the priority transactions of L1 on the chain.

    Remembers: the cursor, up to which L1 is read, and the L1 block of each deposit that is pending on
    L2: it is dropped if a reorg removes the block. Persists: the cursor, only to save reading, and only
    where the contract's count confirms that no deposit before it is missing. The id of the next deposit
    follows from the chain's own blocks, so that a crash, a reorg of L1 or a revert of the chain neither
    repeats nor skips one. Assumes: the thread that changes the chain. Fails: with `LayerOneUnreachable`,
    or with `LayerOneMismatch` if L1 has other deposits than the chain has executed, if the deposits in its logs are not
    those of the contract's tree, or if its responses contradict each other; `run` logs and retries.
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
    def problem(self) -> str | None:
        """Why deposits cannot be read at the moment."""
        return self._steps.problem

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
        if config.confirmations and confirmed > cursor.block and await self._l1.block(head) is None:
            # Confirmations are counted by blocks that there are.
            raise LayerOneMismatch(f"{self._l1.name} has no block {head} at the moment")
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

    async def run(self) -> None:
        """Follow L1 for ever."""
        await self._steps.run()

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

    def _missing(self, found: DepositRange) -> DepositsMissing:
        counted = "" if found.total is None else f", and its contract counts {found.total}"
        return DepositsMissing(
            f"deposit {found.missing(self.next_id)} is missing on {self._l1.name}: the logs of blocks "
            f"{found.first} to {found.last.number} do not have it{counted}"
        )

    async def _valid_cursor(self, confirmed: int) -> DepositCursor:
        """Return the cursor, or an earlier one after a reorg of L1 or a revert of the chain."""
        cursor = self._cursor or self._chain.batches.deposit_cursor()
        if cursor is None:
            await self._check_total()
            return self._before(0, 1)
        if cursor.next_id <= self.next_id and await self._reader.is_canonical(
            cursor.block, cursor.block_hash
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
                f"{self._l1.name} has sent {sent} transactions, but this chain has "
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
            it.hash: self._origins[it.hash] for it in queue if it.hash in self._origins
        }
        blocks = list(dict.fromkeys(self._origins.values()))
        # Blocks before a canonical one are canonical, so checking the newest is mostly enough.
        canonical, removed = 0, len(blocks)
        while canonical < removed:
            index = removed - 1 if removed == len(blocks) else (canonical + removed) // 2
            if await self._reader.is_canonical(*blocks[index]):
                canonical = index + 1
            else:
                removed = index
        # No await from here on, so that no block includes them in between.
        pending = list(queue)
        gone = set(blocks[removed:])
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
