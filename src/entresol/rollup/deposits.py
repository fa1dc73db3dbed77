"""Read priority transactions from L1, and enqueue each on the chain once, in order."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.mining import MiningMode
from entresol.errors import LayerOneMismatch
from entresol.primitives.values import Hash32
from entresol.rollup.worker import Backoff, Worker
from entresol.storage.batch_table import DepositCursor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.l1.contracts import Deposit, ZkChain

log = logging.getLogger(__name__)

BLOCKS_PER_STEP: Final = 5_000


class DepositConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how often deposits are read."""

    confirmations: int = 0
    """How many L1 blocks must follow the block of a deposit."""
    first_block: int = 0
    """The first L1 block that may have a deposit."""
    poll_seconds: float = 1.0


class DepositWatcher:
    """Enqueues the priority transactions of L1 on the chain.

    Remembers: the cursor, up to which L1 is read. Persists: the cursor, now and then, only to save
    reading: the id of the next deposit follows from the chain's own blocks, so that a crash, a reorg
    of L1 or a revert of the chain neither repeats nor skips one. Assumes: the thread that changes the
    chain. Fails: with `LayerOneUnreachable`, or with `LayerOneMismatch` if L1 has other deposits than
    the chain has executed; `run` logs and retries.
    """

    def __init__(
        self, chain: Chain, contract: ZkChain, config: DepositConfig | None = None
    ) -> None:
        self._chain = chain
        self._l1 = contract.l1
        self._contract = contract
        self._config = config or DepositConfig()
        self._cursor: DepositCursor | None = None
        self._worker = Worker(
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
        return self._worker.problem

    @property
    def next_id(self) -> int:
        """The id of the next deposit, after those that are pending."""
        last = self._chain.producer.priority.last
        return self._chain.blocks.next_priority_id() if last is None else last.payload.nonce + 1

    async def step(self) -> int:
        """Read some blocks of L1, and return how many new deposits they have."""
        cursor = await self._valid_cursor()
        last = await self._l1.block_number() - self._config.confirmations
        last = min(last, cursor.block + BLOCKS_PER_STEP)
        if last <= cursor.block:
            return 0
        deposits = await self._contract.deposits(cursor.block + 1, last)
        block = await self._l1.block(last)
        if block is None:
            raise LayerOneMismatch(f"a reorg removed block {last} of {self._l1.name}")
        # No await from here on, so that the chain cannot be reverted in between.
        enqueued = self._enqueue(deposits)
        self._cursor = DepositCursor(last, block.hash, self.next_id)
        if not self._chain.producer.priority:
            self._chain.batches.set_deposit_cursor(self._cursor)
        return enqueued

    async def run(self) -> None:
        """Follow L1 for ever."""
        await self._worker.run()

    async def _poll(self) -> float:
        return 0.0 if await self.step() else self._config.poll_seconds

    async def _valid_cursor(self) -> DepositCursor:
        """Return the cursor; the first block again after a reorg of L1 or a revert of the chain."""
        cursor = self._cursor or self._chain.batches.deposit_cursor()
        if (
            cursor is not None
            and cursor.next_id <= self.next_id
            and await self._is_canonical(cursor)
        ):
            return cursor
        if self._cursor is not None:
            log.warning("reorg or revert: reading all deposits on %s again", self._l1.name)
        sent = await self._contract.total_priority_transactions()
        if sent < self.next_id:
            raise LayerOneMismatch(
                f"{self._l1.name} has sent {sent} transactions, but this chain has "
                f"{self.next_id} of it: it is another L1, or a reorg removed some"
            )
        self._cursor = None
        return DepositCursor(self._config.first_block - 1, Hash32.zero(), self.next_id)

    async def _is_canonical(self, cursor: DepositCursor) -> bool:
        block = await self._l1.block(cursor.block)
        return block is not None and block.hash == cursor.block_hash

    def _enqueue(self, deposits: Sequence[Deposit]) -> int:
        expected = first = self.next_id
        for deposit in deposits:
            if deposit.priority_id < first:
                self._check_executed(deposit)
                continue
            if deposit.priority_id != expected:
                raise LayerOneMismatch(
                    f"deposit {expected} is missing on {self._l1.name}: "
                    f"block {deposit.block} has deposit {deposit.priority_id}"
                )
            self._chain.enqueue(deposit.payload)
            expected += 1
        if self._chain.producer.priority and self._chain.schedule.mode is MiningMode.AUTO:
            self._chain.seal_pending()
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
