"""The settlement status of blocks and batches, as `zks_` methods report it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from entresol.l1 import deployment
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.codec import JsonModel
from entresol.rpc.render.hex import iso_timestamp
from entresol.storage.batch_table import BatchTable

if TYPE_CHECKING:
    from entresol.chain.chain import Chain

PROTOCOL_VERSION: Final = f"Version{deployment.PROTOCOL_VERSION[1]}"


class SettlementFields(JsonModel, frozen=True, kw_only=True):
    """The settlement fields of block and batch details; null for steps not taken yet."""

    status: str
    commit_tx_hash: Hash32 | None = None
    commit_tx_finality: str | None = None
    committed_at: str | None = None
    commit_chain_id: int | None = None
    prove_tx_hash: Hash32 | None = None
    prove_tx_finality: str | None = None
    proven_at: str | None = None
    prove_chain_id: int | None = None
    execute_tx_hash: Hash32 | None = None
    execute_tx_finality: str | None = None
    executed_at: str | None = None
    execute_chain_id: int | None = None
    precommit_tx_hash: Hash32 | None = None
    precommit_tx_finality: str | None = None
    precommitted_at: str | None = None
    precommit_chain_id: int | None = None


class SettlementTransactions(msgspec.Struct, frozen=True):
    """The L1 transactions that settled a batch, so far."""

    commit: SettlementTransaction | None = None
    prove: SettlementTransaction | None = None
    execute: SettlementTransaction | None = None


class BatchStatus:
    """Looks up batches and their settlement on L1.

    Persists: nothing. Assumes: a settlement transaction is stored once it is on L1, and the chain's finality
    follows once that is confirmed.
    """

    def __init__(self, chain: Chain, l1_chain_id: int) -> None:
        self._chain = chain
        self._l1_chain_id = l1_chain_id

    @property
    def batches(self) -> BatchTable:
        """The sealed batches."""
        return self._chain.batches

    @property
    def last_batch(self) -> int:
        """The number of the last sealed batch."""
        last = self.batches.last()
        return 0 if last is None else last.number

    def batch_of(self, block: int) -> Batch | None:
        """Return the batch of a block, once it is sealed."""
        position = self.batches.position_of_block(block)
        return None if position is None else self.batches.get(position.batch)

    def steps_of(self, batch: Batch | None) -> SettlementTransactions:
        """Return the settlement transactions of a batch."""
        if batch is None:
            return SettlementTransactions()
        settled = self.batches.settled
        return SettlementTransactions(*(settled(batch.number, step) for step in SettlementStep))

    def status_of(self, batch: Batch | None) -> str:
        """Return `sealed`, `fastFinalized` or `verified`; the genesis is always verified."""
        if batch is None:
            return "sealed"
        if batch.last_block <= self._chain.finality.finalized:
            return "verified"
        return "sealed" if self.steps_of(batch).execute is None else "fastFinalized"

    def fields_of(self, batch: Batch | None) -> dict[str, Any]:
        """Return the values of `SettlementFields` for a batch."""
        steps, finality = self.steps_of(batch), self._chain.finality
        last = -1 if batch is None else batch.last_block
        return {
            "status": self.status_of(batch),
            **self._step("commit", "committed_at", steps.commit, is_final=last <= finality.safe),
            **self._step("prove", "proven_at", steps.prove, is_final=last <= finality.safe),
            **self._step(
                "execute", "executed_at", steps.execute, is_final=last <= finality.finalized
            ),
        }

    def _step(
        self, name: str, time: str, step: SettlementTransaction | None, *, is_final: bool
    ) -> dict[str, Any]:
        if step is None:
            return {}
        return {
            f"{name}_tx_hash": step.transaction,
            f"{name}_tx_finality": "finalized" if is_final else "fast_finalized",
            time: iso_timestamp(step.timestamp),
            f"{name}_chain_id": self._l1_chain_id,
        }
