"""A chain that accepts what comes into its blocks: transactions, deposits, settings and state edits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from entresol.chain.edits import PreparedEdit
from entresol.chain.events import TransactionPending
from entresol.chain.mempool.validation import check_transaction
from entresol.chain.sealing.sealing_chain import SealingChain
from entresol.errors import MissingSidecar
from entresol.execution.account_validation import runs_in_steps, validate
from entresol.execution.evm_env import EvmEnv
from entresol.primitives.transactions import (
    BlobTransaction,
    PriorityTransaction,
    Transaction,
    ZkTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from entresol._native import Overlay
    from entresol.chain.block_settings import BlockSettings
    from entresol.primitives.values import Address, Hash32


class AcceptingChain(SealingChain):
    """Accepts transactions; `Chain` adds reverts.

    Remembers: what `SealingChain` does. Persists: sealed blocks, through the ledger. Assumes: one thread writes; any
    thread may read sealed blocks. Fails: an error leaves the chain unchanged.
    """

    # Transactions

    def add(self, transaction: Transaction, *, is_validated: bool = False) -> None:
        """Add a transaction to the pool.

        A blob transaction has to come with its blobs; account and paymaster have to agree to one that has any.
        """
        if isinstance(transaction.payload, BlobTransaction) and transaction.sidecar is None:
            check_transaction(transaction, self.pool.rules)
            raise MissingSidecar
        if not is_validated and (validation := self.validation(transaction)) is not None:
            validation()
        self.pool.add(transaction)
        self.rejections.forget(transaction.hash)
        self.events.publish(TransactionPending(transaction))

    def validation(self, transaction: Transaction) -> Callable[[], None] | None:
        """Return what raises if account or paymaster do not agree; any thread may call it.

        None if neither has to be called. Raises what the pool rejects a transaction for before that.
        """
        if not isinstance(transaction.payload, ZkTransaction):
            return None
        state = self.latest
        if transaction.is_impersonated or not runs_in_steps(transaction, state):
            return None
        self.pool.check(transaction)
        block = self.ledger.next_block_env(self._next_timestamp())
        env = EvmEnv(state, self.rules.evm_rules(), block)
        return partial(validate, transaction, env, self.pool.config.validation)

    def is_known(self, transaction_hash: Hash32) -> bool:
        """Return whether a transaction is in the pool or in a block."""
        located = self.blocks.locate_transaction(transaction_hash)
        return transaction_hash in self.pool or located is not None

    def enqueue(self, payload: PriorityTransaction) -> Hash32:
        """Add a priority transaction from L1 to the queue."""
        transaction = self.producer.enqueue(payload)
        self.events.publish(TransactionPending(transaction))
        return transaction.hash

    # Settings and edits

    def configure(self, settings: BlockSettings) -> None:
        """Set what developers want of blocks to come."""
        self.flush()
        self.ledger.settings = settings
        gas_limit = self.rules.gas_limit if settings.gas_limit is None else settings.gas_limit
        if self.pool.rules.gas_limit != gas_limit:
            self.pool.rules = structs.replace(self.pool.rules, gas_limit=gas_limit)
        self.pool.set_base_fees(self.next_base_fee(), self.next_blob_base_fee())

    def edited(self) -> Overlay | None:
        """Return the state with the edits since the last block; None if there are none."""
        return self._edits.checkpoint()

    def edit(self, address: Address, change: Callable[[Overlay], object], *others: Address) -> None:
        """Edit the account at `address`, and perhaps others; the next block records the change."""
        self.flush()
        self.apply_edit(self.prepare_edit(change), [address, *others])

    def prepare_edit(self, change: Callable[[Overlay], object]) -> PreparedEdit:
        """Return the state with an edit, for `apply_edit`; any thread may call it."""
        return PreparedEdit(self.latest, self._edits.edited(self.ledger.latest, change))

    def apply_edit(self, edit: PreparedEdit, touched: Iterable[Address]) -> bool:
        """Let an edit of these accounts take effect; return whether the state is still what it was made on."""
        self.flush()
        if edit.before is not self.latest:
            return False
        edited = list(touched)
        self._edits.restore(edit.after, len(edited))
        self.pool.on_block([], edit.after, self.next_base_fee(), touched=edited)
        return True
