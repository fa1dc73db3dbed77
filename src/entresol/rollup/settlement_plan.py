"""What is to be settled next, and the call that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.primitives.batches import SettlementStep
from entresol.primitives.transactions.priority import MOST_REQUESTS
from entresol.rollup.batches import commit_info_of, priority_ops_of, stored_info_of
from entresol.rollup.commitments import call_of, commit_data, execute_data, proof_data

if TYPE_CHECKING:
    from entresol.l1.contracts import BatchTotals
    from entresol.primitives.values import Address
    from entresol.rollup.l1_sync import L1Sync
    from entresol.storage.readers import BlockReader


class SettlementPlan:
    """Says which step comes next, for which batches, and writes its call.

    Remembers and persists: nothing; it follows from the stored batches and from what L1 has of them.
    """

    def __init__(
        self,
        chain_id: int,
        blocks: BlockReader,
        contract: Address,
        l1_sync: L1Sync,
        max_batches: int,
    ) -> None:
        self._chain_id = chain_id
        self._blocks = blocks
        self._contract = contract
        self._l1_sync = l1_sync
        self._most_batches = max_batches

    def due(self, totals: BatchTotals) -> tuple[SettlementStep, int, int] | None:
        """Return the next step, and the first and last batch it is for."""
        most, sealed = self._most_batches, self._l1_sync.sealed
        if totals.committed < min(sealed, totals.executed + most):
            return SettlementStep.COMMIT, totals.committed + 1, totals.committed + 1
        if totals.verified < totals.committed:
            return (
                SettlementStep.PROVE,
                totals.verified + 1,
                min(totals.committed, totals.verified + most),
            )
        if totals.executed < totals.verified:
            last = min(totals.verified, totals.executed + most)
            return (
                SettlementStep.EXECUTE,
                totals.executed + 1,
                self._executable(totals.executed + 1, last),
            )
        return None

    def call(self, step: SettlementStep, first: int, last: int) -> bytes:
        """Return the call of the timelock that does a step of some batches."""
        chain_id = self._chain_id
        batches = [self._l1_sync.batch(number) for number in range(first, last + 1)]
        stored = [stored_info_of(batch, chain_id) for batch in batches]
        before = stored_info_of(self._l1_sync.batch(first - 1), chain_id)
        if step is SettlementStep.COMMIT:
            payload = commit_data(before, commit_info_of(batches[0], chain_id))
        elif step is SettlementStep.PROVE:
            payload = proof_data(before, stored)
        else:
            operations = [priority_ops_of(self._blocks, batch) for batch in batches]
            payload = execute_data(stored, operations)
        return call_of(step.name.lower(), self._contract, first, last, payload)

    def _executable(self, first: int, last: int) -> int:
        """Return the last batch up to which one transaction can name all requests."""
        requests = self._l1_sync.batch(first).l1_transactions
        for number in range(first + 1, last + 1):
            requests += self._l1_sync.batch(number).l1_transactions
            if requests > MOST_REQUESTS:
                return number - 1
        return last
