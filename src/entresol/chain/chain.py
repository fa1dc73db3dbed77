"""One chain: sealed blocks, the transactions that wait, and the events of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol.chain.block_producer import BlockProducer
from entresol.chain.dev.clock import Clock, ClockState
from entresol.chain.dev.edits import Edits
from entresol.chain.events import BlockSealed, BlocksReverted, ChainEvents, TransactionPending
from entresol.chain.fees.base_fee import Eip1559BaseFee
from entresol.chain.finality import BlockTag, Finality
from entresol.chain.ledger import Ledger
from entresol.chain.mempool import SCHEDULES, Mempool, PoolCheckpoint, PoolConfig, ValidationRules
from entresol.chain.mining import MiningMode, MiningSchedule
from entresol.chain.pending_block import PendingBlock
from entresol.primitives.transactions import PriorityTransaction, Transaction, decode
from entresol.primitives.values import Address, Hash32
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from entresol._native import Overlay, Snapshot
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.rules import ChainRules
    from entresol.errors import ExecutionFailed
    from entresol.execution.block_executor import BlockExecutor, ExecutedBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.storage.readers import BlockReader, BytecodeReader


MAX_CHECKPOINTS: Final = 10_000
"""How many checkpoints are kept: those whom nobody goes back to would fill the memory."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A chain as it was, to go back to."""

    number: int
    pool: PoolCheckpoint
    priority: tuple[Transaction, ...]
    clock: ClockState
    finality: Finality
    edited: Overlay | None


class Chain:
    """A chain of either layer; its rules make the difference.

    Remembers: the pool, the priority queue, edits that no block has yet, checkpoints and how far the
    chain is confirmed. Persists: sealed blocks, through the ledger. Assumes: one thread writes; any
    thread may read what is sealed. Fails: an error leaves the chain as it was before the call.
    """

    def __init__(
        self,
        store: Store,
        rules: ChainRules,
        genesis: Genesis,
        *,
        clock: Clock | None = None,
        pool: PoolConfig | None = None,
    ) -> None:
        self.ledger = Ledger(store, rules, genesis)
        self.blocks: BlockReader = store
        self.bytecodes: BytecodeReader = store
        self.batches = store.batches
        self.prices = store.prices
        self.state_trie = self.ledger.trie
        self.rules = rules
        self.genesis = genesis
        self.clock = clock or Clock()
        self.events = ChainEvents()
        self.finality = Finality()
        self.schedule = MiningSchedule()
        self._edits = Edits()
        self.pool = Mempool(
            _admission(rules), self.ledger.latest, base_fee=self.next_base_fee(), config=pool
        )
        self.producer = BlockProducer(self.ledger, self.pool)
        self._pending = PendingBlock(self.ledger, self.pool, self.producer)
        self._checkpoints: dict[int, Checkpoint] = {}
        self._last_checkpoint = 0

    @classmethod
    def open(
        cls,
        path: Path | None,
        rules: ChainRules,
        genesis: Genesis,
        *,
        durable: bool = True,
        clock: Clock | None = None,
        pool: PoolConfig | None = None,
    ) -> Self:
        """Open the chain in the directory `path`, or a temporary one."""
        store = Store.temporary() if path is None else Store.open(path, durable=durable)
        try:
            return cls(store, rules, genesis, clock=clock, pool=pool)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Let go of the store."""
        self.ledger.store.close()

    # Reading

    @property
    def head(self) -> Header:
        """The header of the last block."""
        return self.ledger.head

    @property
    def number(self) -> int:
        """The number of the last block."""
        return self.ledger.number

    def resolve(self, block: int | BlockTag) -> int:
        """Return the number of a block; that of the pending one follows the head's."""
        return self.finality.resolve(block, self.number) if isinstance(block, BlockTag) else block

    @property
    def latest(self) -> Snapshot | Overlay:
        """The state after the last block and the edits since."""
        return self._edits.on(self.ledger.latest)

    def state_after(self, block: int | BlockTag) -> Snapshot | Overlay:
        """Return the state after a sealed block; that after the head shows the edits since."""
        number = self.resolve(block)
        return self.latest if number == self.number else self.ledger.state_after(number)

    def next_base_fee(self) -> int:
        """Return the base fee of the next block."""
        return self.rules.fees.next(self.ledger.head)

    def pending(self) -> BlockExecutor:
        """Return the block that would be sealed now, with its transactions run; it is shared, to be read."""
        return self._pending.filled(self._next_timestamp(), self.latest, self._edits.stored)

    def pending_block(self) -> ExecutedBlock:
        """Return the block that would be sealed now, with its header and its roots."""
        return self._pending.finished(self.pending())

    # Transactions

    def submit(self, raw: bytes) -> Hash32:
        """Take a raw transaction, and seal it if the chain does so by itself."""
        return self.send(decode(raw))

    def send(self, transaction: Transaction) -> Hash32:
        """Take a transaction, and seal it if the chain does so by itself."""
        self.add(transaction)
        if self.schedule.mode is MiningMode.AUTO:
            self.seal_pending()
        return transaction.hash

    def add(self, transaction: Transaction) -> None:
        """Take a transaction into the pool."""
        self.pool.add(transaction)
        self.events.publish(TransactionPending(transaction))

    def enqueue(self, payload: PriorityTransaction) -> Hash32:
        """Take a transaction from the other layer."""
        transaction = self.producer.enqueue(payload)
        self.events.publish(TransactionPending(transaction))
        return transaction.hash

    def edit(self, address: Address, change: Callable[[Overlay], object]) -> None:
        """Change the account at `address` by hand; the next block records it."""
        edited = self._edits.make(self.ledger.latest, change)
        self.pool.on_block([], edited, self.next_base_fee(), touched=[address])

    # Blocks

    def tick(self, now: float) -> Header | None:
        """Seal the next block if it is due at `now`, by any clock that only goes forward."""
        waiting = self.schedule.mode is MiningMode.DELAYED and self.producer.has_work
        return self.seal() if self.schedule.is_due(now, waiting=waiting) else None

    def seal_pending(self) -> None:
        """Seal blocks until nothing that waits can go into one."""
        while self.producer.has_work:
            if not self.seal().gas_used:
                return

    def seal(self, *, limit: int | None = None) -> Header:
        """Seal the next block, be it empty."""
        executed = self.producer.build(self._next_timestamp(), *self._edits.stored(), limit=limit)
        self.ledger.append(executed)
        self.producer.on_sealed(executed)
        self.clock.on_sealed(executed.header.timestamp)
        self._follow_head(executed.record, executed.transactions, executed.failures)
        return executed.header

    def import_block(self, record: BlockRecord, *, execute: bool = False) -> None:
        """Take over a block that another node sealed."""
        self.ledger.import_block(record, execute=execute)
        self._follow_head(record, _transactions(record))

    def set_finality(self, *, safe: int | None = None, finalized: int | None = None) -> None:
        """Note how far the other layer has confirmed the chain."""
        before = self.finality
        self.finality = Finality(
            before.safe if safe is None else safe,
            before.finalized if finalized is None else finalized,
        )

    # Going back

    def checkpoint(self) -> int:
        """Remember the chain as it is, and return a number to go back by; of too many, the oldest go."""
        self._last_checkpoint += 1
        if len(self._checkpoints) >= MAX_CHECKPOINTS:
            del self._checkpoints[next(iter(self._checkpoints))]
        self._checkpoints[self._last_checkpoint] = Checkpoint(
            number=self.number,
            pool=self.pool.checkpoint(),
            priority=tuple(self.producer.priority),
            clock=self.clock.state,
            finality=self.finality,
            edited=self._edits.checkpoint(),
        )
        return self._last_checkpoint

    def restore(self, checkpoint: int) -> bool:
        """Make the chain what it was at a checkpoint, and forget that one and all later ones."""
        was = self._checkpoints.get(checkpoint)
        if was is None:
            return False
        self._checkpoints = {n: c for n, c in self._checkpoints.items() if n < checkpoint}
        gone = self.ledger.unwind(was.number) if was.number < self.number else ()
        self._edits.restore(was.edited)
        self.pool.restore(was.pool, self._edits.on(self.ledger.latest))
        self.producer.priority.replace(was.priority)
        self.clock.state = was.clock
        self.finality = was.finality
        self._tell_removed(gone)
        return True

    def rewind(self, number: int) -> None:
        """Go back to block `number`; the transactions of the blocks that are gone wait again."""
        gone = self.ledger.unwind(number)
        self._edits.restore(None)
        self._checkpoints = {n: c for n, c in self._checkpoints.items() if c.number <= number}
        self.finality = self.finality.at_most(number)
        undone = [it for record in reversed(gone) for it in _transactions(record)]
        from_l1 = [it for it in undone if isinstance(it.payload, PriorityTransaction)]
        self.producer.priority.push_front(from_l1)
        others = [it for it in undone if not isinstance(it.payload, PriorityTransaction)]
        self.pool.reset(self.ledger.latest, self.next_base_fee(), reverted=others)
        self._tell_removed(gone)

    def _next_timestamp(self) -> int:
        return self.clock.next_timestamp(self.head.timestamp)

    def _follow_head(
        self,
        record: BlockRecord,
        transactions: Iterable[Transaction],
        failures: Mapping[int, ExecutionFailed] | None = None,
    ) -> None:
        self._edits.restore(None)
        self.pool.on_block(
            [transaction.hash for transaction in transactions],
            self.ledger.latest,
            self.next_base_fee(),
            touched=[Address(change.address) for change in record.changes],
        )
        header = self.head
        self.events.publish(
            BlockSealed(header.number, self.ledger.head_hash, header, failures or {})
        )

    def _tell_removed(self, gone: tuple[BlockRecord, ...]) -> None:
        if gone:
            self.events.publish(BlocksReverted(gone, self.number))


def _transactions(record: BlockRecord) -> list[Transaction]:
    return [record.transaction(index) for index in range(len(record.transactions))]


def _admission(rules: ChainRules) -> ValidationRules:
    """Return what the pool of a chain with these rules takes."""
    return ValidationRules(
        chain_id=rules.chain_id,
        gas_limit=rules.gas_limit,
        accepted_types=rules.accepted_types,
        schedule=SCHEDULES[rules.fork],
        accepts_below_base_fee=isinstance(rules.fees, Eip1559BaseFee),
    )
