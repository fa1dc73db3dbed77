"""Following L1 for the transactions it sends: each is handed to the chain once, and in order."""

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

BLOCKS_A_STEP: Final = 5_000


class DepositConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How deposits are looked for."""

    confirmations: int = 0
    """How many L1 blocks must stand on the one that has a deposit."""
    first_block: int = 0
    """Where on L1 the contract began."""
    poll_seconds: float = 1.0


class DepositWatcher:
    """Hands the transactions that L1 sends to the chain.

    Remembers: how far it has read L1. Persists: the same, now and then, which saves reading but decides
    nothing: which deposit comes next is known from the chain's own blocks, so that none is executed
    twice or left out, whenever the process ends and whichever layer goes back. Assumes: the thread
    that changes the chain. Fails: with `LayerOneUnreachable`, which waiting helps, or with
    `LayerOneMismatch` if L1 tells of other deposits than the chain has executed; `run` says so and
    looks again.
    """

    def __init__(
        self, chain: Chain, contract: ZkChain, config: DepositConfig | None = None
    ) -> None:
        self._chain = chain
        self._l1 = contract.l1
        self._contract = contract
        self._config = config or DepositConfig()
        self._read: DepositCursor | None = None
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
        """The number of the next deposit, behind those that wait for a block."""
        last = self._chain.producer.priority.last
        return self._chain.blocks.next_priority_id() if last is None else last.payload.nonce + 1

    async def step(self) -> int:
        """Read some blocks of L1, and return how many deposits they had for the chain."""
        read = await self._position()
        last = await self._l1.block_number() - self._config.confirmations
        last = min(last, read.block + BLOCKS_A_STEP)
        if last <= read.block:
            return 0
        deposits = await self._contract.deposits(read.block + 1, last)
        block = await self._l1.block(last)
        if block is None:
            raise LayerOneMismatch(f"block {last} of {self._l1.name} is gone again")
        # From here on nothing waits, so the chain cannot go back in between.
        taken = self._hand_over(deposits)
        self._read = DepositCursor(last, block.hash, self.next_id)
        if not self._chain.producer.priority:
            self._chain.batches.set_deposit_cursor(self._read)
        return taken

    async def run(self) -> None:
        """Follow L1 for ever."""
        await self._worker.run()

    async def _poll(self) -> float:
        return 0.0 if await self.step() else self._config.poll_seconds

    async def _position(self) -> DepositCursor:
        """Return how far L1 is read, going back if either layer went back since."""
        read = self._read or self._chain.batches.deposit_cursor()
        if read is not None and read.next_id <= self.next_id and await self._still_there(read):
            return read
        if self._read is not None:
            log.warning("a layer went back: reading the deposits on %s again", self._l1.name)
        sent = await self._contract.total_priority_transactions()
        if sent < self.next_id:
            raise LayerOneMismatch(
                f"{self._l1.name} has sent {sent} transactions, but this chain has "
                f"{self.next_id} of it: it is another L1, or it has forgotten some"
            )
        self._read = None
        return DepositCursor(self._config.first_block - 1, Hash32.zero(), self.next_id)

    async def _still_there(self, read: DepositCursor) -> bool:
        block = await self._l1.block(read.block)
        return block is not None and block.hash == read.block_hash

    def _hand_over(self, deposits: Sequence[Deposit]) -> int:
        expected = first = self.next_id
        for deposit in deposits:
            if deposit.number < first:
                self._compare(deposit)
                continue
            if deposit.number != expected:
                raise LayerOneMismatch(
                    f"deposit {expected} is missing on {self._l1.name}: "
                    f"block {deposit.block} has deposit {deposit.number}"
                )
            self._chain.enqueue(deposit.payload)
            expected += 1
        if self._chain.producer.priority and self._chain.schedule.mode is MiningMode.AUTO:
            self._chain.seal_pending()
        return expected - first

    def _compare(self, deposit: Deposit) -> None:
        """See that a deposit the chain has already is the one that L1 has now."""
        location = self._chain.blocks.locate_priority(deposit.number)
        if location is None:
            return
        block = location.block_number
        executed = self._chain.blocks.record(block).transaction(location.transaction_index)
        if executed.hash != deposit.payload.hash():
            raise LayerOneMismatch(
                f"deposit {deposit.number} on {self._l1.name} is not the one in block {block} "
                "of this chain: L1 went back below the confirmed blocks, or is another one"
            )
