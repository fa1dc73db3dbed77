"""One chain: its sealed blocks, what is pending, and what the next block is built on."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Self

from msgspec import structs

from entresol.chain.clock import Clock
from entresol.chain.edits import Edits, PreparedEdit
from entresol.chain.events import ChainEvents, TransactionPending
from entresol.chain.finality import BlockTag, Finality
from entresol.chain.genesis.stored_genesis import identity
from entresol.chain.history import History
from entresol.chain.ledger import Ledger
from entresol.chain.mempool import Mempool, PoolConfig
from entresol.chain.mempool.pool import Admission
from entresol.chain.mempool.sidecars import BlobSidecars
from entresol.chain.mempool.validation import check_transaction
from entresol.chain.mining_schedule import MiningMode, MiningSchedule
from entresol.chain.sealing.block_builder import BlockAppender, BlockBuilder
from entresol.chain.sealing.block_filler import BlockFiller, NextBlock
from entresol.chain.sealing.pool_inclusion import Rejections
from entresol.errors import NotPossible, TransactionRuleBroken
from entresol.execution.account_senders import runs_in_steps, validate
from entresol.execution.evm_env import EvmEnv
from entresol.listeners import Listeners
from entresol.primitives.transactions import BlobTransaction, ZkTransaction
from entresol.primitives.values import Hash32
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from entresol._native import Overlay, RemoteTable, Snapshot
    from entresol.chain.edits import BlockSettings
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.genesis.stored_genesis import ExpectedGenesis
    from entresol.chain.rules import ChainRules
    from entresol.errors import StoreFailed, SystemTransactionFailed
    from entresol.execution.block_executor import ExecutedBlock
    from entresol.primitives.headers import Header
    from entresol.primitives.records import BlockRecord
    from entresol.primitives.transactions import PriorityTransaction, Transaction
    from entresol.primitives.values import Address
    from entresol.storage.block_rows import Prices
    from entresol.storage.store_view import StoreView


class Chain:
    """A chain of either layer, which its rules define.

    `builder` builds and seals the next block, `history` removes and replaces blocks. The invariant of all parts: edits,
    clock and settings are one build state, which a new head changes as a whole, and whatever changes the chain calls
    `flush` first, so that it comes after the block that is being written. One thread writes; any may read sealed blocks.
    """

    def __init__(
        self,
        store: Store,
        rules: ChainRules,
        genesis: Genesis | ExpectedGenesis,
        *,
        clock: Clock | None = None,
        pool: PoolConfig | None = None,
        remote: RemoteTable | None = None,
    ) -> None:
        self.rules = rules
        self.ledger = ledger = Ledger(store, rules, genesis, remote=remote)
        self.use = ledger.use
        self.genesis = ledger.genesis
        self.state_trie = ledger.trie
        self.blocks: StoreView = store
        self.batches = store.batches
        self.prices = store.prices
        self.open_logs = store.open_logs
        self.instance_id = Hash32(secrets.token_bytes(Hash32.size))
        """Other each time the chain is opened, so that tools notice that what they know of it may be outdated."""
        self.finality = Finality(epoch_slots=rules.epoch_slots)
        self.finality_set: Listeners[[]] = Listeners()
        """Notified when another block is safe or finalized, without a new block or a revert."""
        self.events = ChainEvents()
        self.clock = clock or Clock()
        if ledger.anchor is not None:
            self.clock.start_at(ledger.head.timestamp)
        self.edits = Edits()
        self.next_block = NextBlock(ledger, self.clock, self.edits)
        self.pool = Mempool(
            rules.validation_rules(), ledger.latest, base_fee=self.next_base_fee(), config=pool
        )
        self.pool.blob_base_fee = self.next_blob_base_fee()
        self.admission = Admission()
        self.sidecars = BlobSidecars()
        self.rejections = Rejections(self.pool)
        self.schedule = MiningSchedule(self._set_pool_order)
        self.filler = BlockFiller(ledger, self.pool)
        self._appender = BlockAppender(
            self.next_block, self.pool, self.filler, self.sidecars, self.events
        )
        self.builder = BlockBuilder(
            self.next_block, self.pool, self.filler, self.rejections, self._appender
        )
        self.history = History(self)
        self.clock.before_change(self.flush)

    @classmethod
    def open(  # noqa: PLR0913 - independent parts
        cls,
        path: Path | None,
        rules: ChainRules,
        genesis: Genesis | ExpectedGenesis,
        *,
        durable: bool = True,
        shared: bool = False,
        clock: Clock | None = None,
        pool: PoolConfig | None = None,
        remote: RemoteTable | None = None,
    ) -> Self:
        """Open the chain in a directory, or a temporary one, which other processes read if `shared`; a fork reads from `remote`, too."""
        store = (
            Store.temporary(shared=shared)
            if path is None
            else Store.open(path, durable=durable, shared=shared)
        )
        try:
            return cls(store, rules, genesis, clock=clock, pool=pool, remote=remote)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store."""
        try:
            self.flush()
        finally:
            self.ledger.store.close()

    @property
    def failure(self) -> StoreFailed | SystemTransactionFailed | None:
        """Why no block can be sealed at present; None if nothing prevents it."""
        return self.ledger.store.failure or self.filler.roots.failure

    def recover(self) -> bool:
        """Try to seal blocks again after a failed write; return whether that is possible."""
        if self.failure is not None:
            self.flush()
        return self.ledger.store.recover()

    def verify(self, progress: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Re-execute every block; raise `ReplayMismatch` at the first that differs."""
        self.ledger.verify(progress)

    # Read

    @property
    def head(self) -> Header:
        """The header of the last block."""
        return self.ledger.head

    @property
    def identity(self) -> bytes:
        """The hash that identifies its genesis in its store."""
        return self.ledger.store.genesis.identity or identity(self.genesis)

    @property
    def number(self) -> int:
        """The number of the last block."""
        return self.ledger.head.number

    def resolve(self, block: int | BlockTag) -> int:
        """Return the number of a block; the pending block has the number after the head's."""
        if isinstance(block, BlockTag):
            return self.finality.resolve(block, self.number, self.ledger.first)
        return block

    @property
    def latest(self) -> Snapshot | Overlay:
        """The state after the last block and the edits since then."""
        return self.next_block.latest

    def state_after(self, block: int | BlockTag) -> Snapshot | Overlay:
        """Return the state after a sealed block; that of the head includes the edits since then."""
        number = self.resolve(block)
        return self.latest if number == self.number else self.ledger.state_after(number)

    @property
    def settings(self) -> BlockSettings:
        """The settings of developers for blocks to come."""
        return self.ledger.settings

    @property
    def beneficiary(self) -> Address:
        """The account that gets the fees of the next block."""
        return self.settings.beneficiary or self.rules.beneficiary

    def next_base_fee(self) -> int:
        """Return the base fee of the next block."""
        return self.next_block.base_fee()

    def next_blob_base_fee(self) -> int:
        """Return the base fee per blob gas of the next block."""
        return self.next_block.blob_base_fee()

    def is_due(self, now: float) -> bool:
        """Return whether the next block is due at `now`, a monotonic time, and if so schedule the next one."""
        has_work = self.schedule.mode is MiningMode.DELAYED and self.filler.has_work
        return self.schedule.is_due(now, has_work=has_work)

    def is_known(self, transaction_hash: Hash32) -> bool:
        """Return whether a transaction is in the pool or in a block."""
        located = self.blocks.locate_transaction(transaction_hash)
        return transaction_hash in self.pool or located is not None

    # Accept what comes into blocks

    def add(self, transaction: Transaction, *, is_validated: bool = False) -> None:
        """Add a transaction to the pool, with its blobs if it has any; account and paymaster have to agree to it."""
        self.admission.check()
        if isinstance(transaction.payload, BlobTransaction) and transaction.sidecar is None:
            check_transaction(transaction, self.pool.rules)
            raise TransactionRuleBroken("no sidecar")
        if not is_validated and (validation := self.validation(transaction)) is not None:
            validation()
        self.pool.add(transaction)
        self.rejections.forget(transaction.hash)
        self.events.publish(TransactionPending(transaction))

    def validation(self, transaction: Transaction) -> Callable[[], None] | None:
        """Return what raises if account or paymaster do not agree, for any thread; None if neither is called; raise a rejection."""
        if not isinstance(transaction.payload, ZkTransaction):
            return None
        state = self.latest
        if transaction.is_impersonated or not runs_in_steps(transaction, state):
            return None
        self.pool.check(transaction)
        block = self.ledger.next_block_env(self.next_block.timestamp())
        env = EvmEnv(state, self.rules.evm_rules(), block)
        return partial(validate, transaction, env, self.pool.config.validation)

    def enqueue(self, payload: PriorityTransaction) -> Hash32:
        """Add a priority transaction from L1 to the queue."""
        transaction = self.filler.enqueue(payload)
        self.events.publish(TransactionPending(transaction))
        return transaction.hash

    def drop_pending(self) -> None:
        """Drop every transaction that is in no block."""
        self.filler.priority.replace(())
        self.filler.roots.replace()
        self.pool.clear(self.latest)

    # Change what the next block is built on

    def configure(self, settings: BlockSettings) -> None:
        """Set what developers want of blocks to come."""
        if not self.rules.is_development and settings != settings.after_block():
            raise NotPossible(
                "a base fee or a PREVRANDAO that is set, which only blocks of a development chain may have"
            )
        self.flush()
        self.ledger.settings = settings
        gas_limit = self.rules.gas_limit if settings.gas_limit is None else settings.gas_limit
        if self.pool.rules.gas_limit != gas_limit:
            self.pool.rules = structs.replace(self.pool.rules, gas_limit=gas_limit)
        self.reprice()

    def reprice(self) -> None:
        """Let the pool have the base fees of the next block, after something else than a block has changed them."""
        self.flush()
        self.pool.set_base_fees(self.next_base_fee(), self.next_blob_base_fee())

    def edit(self, address: Address, change: Callable[[Overlay], object], *others: Address) -> None:
        """Edit the account at `address`, and perhaps others; the next block records the change."""
        self.flush()
        self.apply_edit(self.prepare_edit(change), [address, *others])

    def prepare_edit(self, change: Callable[[Overlay], object]) -> PreparedEdit:
        """Return the state with an edit, for `apply_edit`; any thread may call it."""
        return PreparedEdit(self.latest, self.edits.edited(self.ledger.latest, change))

    def apply_edit(self, edit: PreparedEdit, touched: Iterable[Address]) -> bool:
        """Let an edit of these accounts take effect; return whether the state is still what it was made on."""
        if not self.rules.is_development:
            raise NotPossible(
                "an edit of the state, which only blocks of a development chain may have"
            )
        self.flush()
        if edit.before is not self.latest:
            return False
        edited = list(touched)
        self.edits.restore(edit.after, len(edited))
        self.pool.on_block([], edit.after, self.next_base_fee(), touched=edited)
        return True

    def set_finality(self, safe: int | None = None, finalized: int | None = None) -> None:
        """Set the safe and the finalized block; what is not given stays."""
        before, self.finality = self.finality, self.finality.updated(safe, finalized)
        if self.finality != before:
            self.finality_set.notify()

    def _set_pool_order(self, mode: MiningMode) -> None:
        """With automine transactions are included as they arrive: a later one may build on any before it."""
        self.pool.order = "fifo" if mode.is_automine else self.pool.config.order

    # Make a block the head

    def append(
        self, executed: ExecutedBlock, prices: Prices | None, *, sync: bool = True
    ) -> Header:
        """Seal an executed block, which must be the next one; without `sync` a later write makes it durable."""
        return self._appender.append(executed, prices, sync=sync)

    def import_block(
        self, record: BlockRecord, *, execute: bool = False, prices: Prices | None = None
    ) -> None:
        """Import a block that another node sealed, with the prices it had there."""
        self._appender.import_block(record, execute=execute, prices=prices)

    def flush(self) -> None:
        """Make the block that is being written the head now, and wait for the disk if need be."""
        self._appender.flush()
