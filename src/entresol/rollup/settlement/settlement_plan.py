"""The next settlement operation, and the call data of each."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from entresol.errors import LayerOneMismatch
from entresol.primitives.batches import SettlementStep
from entresol.primitives.interop_roots import ENCODED_ROOT_BYTES
from entresol.primitives.transactions.priority import MAX_PRIORITY_TRANSACTIONS
from entresol.rollup.batches import (
    commit_info_of,
    imported_roots_of,
    priority_ops_of,
    stored_info_of,
)
from entresol.rollup.commitments import commit_data, encode_call, execute_data, proof_data
from entresol.rollup.settlement.pending_tx import SettlementOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from entresol.primitives.batches import Batch
    from entresol.primitives.values import Address
    from entresol.rollup.settlement.l1_sync import L1Sync
    from entresol.rollup.step_loop import Backoff
    from entresol.storage.batch_table import BatchTable
    from entresol.storage.store_view import StoreView

MAX_EXECUTE_BYTES: Final = 120_000
"""How much one transaction lists: nodes of L1 take none above 128 KiB."""
_BATCH_BYTES: Final = 5_120
"""Of a batch without priority transactions and roots: its fields, offsets and lengths, and two paths of 64 hashes."""
_PRIORITY_BYTES: Final = 32

log = logging.getLogger(__name__)


class SettlementPlan:
    """Decides which operation comes next, and encodes its call."""

    def __init__(  # noqa: PLR0913 - independent parts
        self,
        chain_id: int,
        blocks: StoreView,
        contract: Address,
        l1_sync: L1Sync,
        max_batches: int,
        *,
        contradicted_block: Callable[[], int | None] = lambda: None,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take the parts; `contradicted_block` is the first block with a root that L1 has replaced, if there is one.

        The first batch is committed once it `may_begin`.
        """
        self._chain_id = chain_id
        self._blocks = blocks
        self._contract = contract
        self._l1_sync = l1_sync
        self._max_batches = max_batches
        self._contradicted_block = contradicted_block
        self._may_begin = may_begin

    def next_operation(self, steps: Collection[SettlementStep]) -> SettlementOperation | None:
        """Return the next operation that is one of `steps`; None if L1 has not yet what it builds on."""
        committed, verified, executed = map(self._l1_sync.last_recorded, SettlementStep)
        if (
            SettlementStep.COMMIT in steps
            and committed < min(self._l1_sync.sealed, executed + self._max_batches)
            and not self._is_contradicted(committed + 1)
            and (committed or self._may_begin())
        ):
            return SettlementOperation(SettlementStep.COMMIT, committed + 1, committed + 1)
        if SettlementStep.PROVE in steps and verified < committed:
            last = min(committed, verified + self._max_batches)
            return SettlementOperation(SettlementStep.PROVE, verified + 1, last)
        if SettlementStep.EXECUTE in steps and executed < verified:
            last = min(verified, executed + self._max_batches)
            last = self._last_executable(executed + 1, last)
            return SettlementOperation(SettlementStep.EXECUTE, executed + 1, last)
        return None

    def call(self, operation: SettlementOperation) -> bytes:
        """Return the call of the timelock that does an operation."""
        step, first, last = operation
        chain_id = self._chain_id
        batches = [self._l1_sync.batch(number) for number in range(first, last + 1)]
        stored = [stored_info_of(batch, chain_id) for batch in batches]
        previous = stored_info_of(self._l1_sync.batch(first - 1), chain_id)
        if step is SettlementStep.COMMIT:
            if self._is_contradicted(first):
                # L1 would take it, and then never execute it, nor what follows.
                raise LayerOneMismatch(f"batch {first} imports a root that L1 has replaced")
            published = self._l1_sync.data(batches[0])
            data = commit_data(previous, commit_info_of(batches[0], chain_id, published))
        elif step is SettlementStep.PROVE:
            data = proof_data(previous, stored)
        else:
            operations = [priority_ops_of(self._blocks, batch) for batch in batches]
            roots = [imported_roots_of(self._blocks, batch) for batch in batches]
            data = execute_data(stored, operations, roots)
        return encode_call(step.name.lower(), self._contract, first, last, data)

    def _is_contradicted(self, number: int) -> bool:
        """Return whether a batch has a root that L1 has replaced, or comes after one."""
        block = self._contradicted_block()
        return block is not None and self._l1_sync.batch(number).last_block >= block

    def _last_executable(self, first: int, last: int) -> int:
        """Return the last batch up to which one transaction can list all priority requests and roots."""
        requests = size = 0
        for number in range(first, last + 1):
            batch = self._l1_sync.batch(number)
            requests += batch.l1_transactions
            size += _encoded_size(batch)
            is_full = requests > MAX_PRIORITY_TRANSACTIONS or size > MAX_EXECUTE_BYTES
            if is_full and number > first:
                return number - 1
        return last


def _encoded_size(batch: Batch) -> int:
    """Return an upper bound of what a batch adds to the transaction that executes it."""
    listed = batch.l1_transactions * _PRIORITY_BYTES + batch.interop_roots * ENCODED_ROOT_BYTES
    return _BATCH_BYTES + listed


class SettlementStop:
    """Stops settlement after an operation that reverts, or would, until L1 says that it would not any more."""

    def __init__(self, batches: BatchTable, l1_sync: L1Sync, backoff: Backoff) -> None:
        self._batches = batches
        self._l1_sync = l1_sync
        self._backoff = backoff
        self._pause = backoff.first()
        self._by: tuple[SettlementOperation, bytes] | None = None
        self._until = 0.0
        self.now = 0.0
        """The time of the current step."""
        self.reason: str | None = None
        """Why it is stopped."""

    def on_reverted(self, operation: SettlementOperation, reason: str) -> None:
        """Stop because of an operation."""
        before, self.reason = self.reason, f"{operation} failed: {reason}"
        self._by = operation, self._l1_sync.batch(operation.first).state_root
        self._until = self.now + self._pause
        if self.reason != before:
            log.error("settlement stopped: %s", self.reason)

    def on_sent(self, operation: SettlementOperation) -> None:
        """Go on if this stopped it: L1 says that it would not revert now."""
        stopped_by = self._by and self._by[0]
        if stopped_by is None or operation[:2] != stopped_by[:2]:
            return
        self._pause = self._backoff.after(self._pause)
        if self.reason is not None:
            log.info("settlement resumes with the %s", operation)
        self.reason = None

    def may_send(self, steps: Collection[SettlementStep]) -> bool:
        """Return whether a key with these steps may send: not while stopped, but to try again what stopped it."""
        if self._by is None:
            return True
        (step, first, _), root = self._by
        batch, is_done = self._batches.get(first), self._l1_sync.totals.last(step) >= first
        if batch is None or batch.state_root != root or is_done:
            if self.reason is not None:
                log.info("settlement resumes: what stopped it is done, or its batch was reverted")
            self.reason = self._by = None
            self._pause = self._backoff.first()
        if self.reason is None:
            return True
        return self.now >= self._until and step in steps

    def lift(self) -> None:
        """Go on at once."""
        self.reason = None
