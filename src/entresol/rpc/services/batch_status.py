"""The settlement status of blocks and batches, as `zks_` methods report it."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from entresol.cache_limits import CACHES
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.render.hex import iso_timestamp
from entresol.storage.batch_table import BatchTable

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.finality import Finality


class SettlementFields(JsonModel, frozen=True, kw_only=True):
    """The settlement fields of block and batch details; null for steps not taken yet."""

    status: Annotated[str, says("`verified` once its batch's execution is final, else `sealed`.")]
    commit_tx_hash: Annotated[
        Hash32 | None, says("The transaction on L1 that committed the batch; null before it.")
    ] = None
    commit_tx_finality: Annotated[str | None, says("How final that transaction is.")] = None
    committed_at: Annotated[str | None, says("When it was committed; null before it.")] = None
    commit_chain_id: Annotated[int | None, says("The chain of that transaction.")] = None
    prove_tx_hash: Annotated[
        Hash32 | None, says("The transaction on L1 that proved the batch; null before it.")
    ] = None
    prove_tx_finality: Annotated[str | None, says("How final that transaction is.")] = None
    proven_at: Annotated[str | None, says("When it was proven; null before it.")] = None
    prove_chain_id: Annotated[int | None, says("The chain of that transaction.")] = None
    execute_tx_hash: Annotated[
        Hash32 | None, says("The transaction on L1 that executed the batch; null before it.")
    ] = None
    execute_tx_finality: Annotated[str | None, says("How final that transaction is.")] = None
    executed_at: Annotated[str | None, says("When it was executed; null before it.")] = None
    execute_chain_id: Annotated[int | None, says("The chain of that transaction.")] = None
    precommit_tx_hash: Annotated[Hash32 | None, says("Null: nothing is precommitted.")] = None
    precommit_tx_finality: Annotated[str | None, says("Null: nothing is precommitted.")] = None
    precommitted_at: Annotated[str | None, says("Null: nothing is precommitted.")] = None
    precommit_chain_id: Annotated[int | None, says("Null: nothing is precommitted.")] = None


class SettlementTransactions(msgspec.Struct, frozen=True):
    """The L1 transactions that settled a batch, so far."""

    commit: SettlementTransaction | None = None
    prove: SettlementTransaction | None = None
    execute: SettlementTransaction | None = None


class BatchSettlement(NamedTuple):
    """A batch, or none, and its settlement so far."""

    batch: Batch | None
    status: str
    """`sealed`, `fastFinalized` or `verified`; the genesis is always verified."""
    steps: SettlementTransactions
    fields: str
    """The members of `SettlementFields`, as JSON."""
    hashes: str
    """The members of the steps' transactions in `TransactionDetails`, as JSON."""


class BatchStatus:
    """Looks up batches and their settlement on L1.

    Remembers: the settlement of batches, rendered, until a row of the store is rewritten or the finality changes; new
    blocks leave it alone. Assumes: one event loop; a settlement transaction is stored once it is on
    L1, and the chain's finality follows once that is confirmed.
    """

    def __init__(self, chain: Chain, l1_chain_id: int) -> None:
        self._chain = chain
        self._l1_chain_id = l1_chain_id
        self._version = -1
        self._finality: Finality | None = None
        self._known: dict[int, BatchSettlement] = {}
        # The same by the first block of each, in order: batches follow one another without gaps.
        self._first_blocks: list[int] = []
        self._ordered: list[BatchSettlement] = []
        self.unsettled = self._settlement(None)
        """The settlement of what is in no batch."""

    @property
    def batches(self) -> BatchTable:
        """The sealed batches."""
        return self._chain.batches

    @property
    def last_batch(self) -> int:
        """The number of the last sealed batch."""
        last = self.batches.last()
        return 0 if last is None else last.number

    @property
    def is_current(self) -> bool:
        """Whether nothing has changed since a batch was last looked up."""
        return (
            self._chain.batches.version == self._version and self._chain.finality is self._finality
        )

    def of_block(self, block: int) -> BatchSettlement:
        """Return the settlement of a block, of no batch if that is not sealed."""
        self._refresh()
        at = bisect_right(self._first_blocks, block) - 1
        if at >= 0:
            found = self._ordered[at]
            assert found.batch is not None
            if block <= found.batch.last_block:
                return found
        position = self.batches.position_of_block(block)
        settlement = None if position is None else self.of_batch(position.batch)
        return self.unsettled if settlement is None else settlement

    def of_batch(self, number: int) -> BatchSettlement | None:
        """Return the settlement of a sealed batch."""
        self._refresh()
        found = self._known.get(number)
        if found is None:
            batch = self.batches.get(number)
            if batch is None:
                return None
            found = self._settlement(batch)
            if len(self._known) >= CACHES.settlements:
                self._forget()
            self._known[number] = found
            at = bisect_right(self._first_blocks, batch.first_block)
            self._first_blocks.insert(at, batch.first_block)
            self._ordered.insert(at, found)
        return found

    def _refresh(self) -> None:
        if not self.is_current:
            self._version, self._finality = self._chain.batches.version, self._chain.finality
            self._forget()

    def _forget(self) -> None:
        self._known.clear()
        self._first_blocks.clear()
        self._ordered.clear()

    def _settlement(self, batch: Batch | None) -> BatchSettlement:
        steps = self._steps_of(batch)
        status = self._status_of(batch, steps)
        fields = encode(SettlementFields(status=status, **self._fields_of(batch, steps)))
        hashes = ",".join(
            f'"eth{name}TxHash":{_hash(step)}'
            for name, step in (
                ("Commit", steps.commit),
                ("Prove", steps.prove),
                ("Execute", steps.execute),
                ("Precommit", None),
            )
        )
        return BatchSettlement(batch, status, steps, fields.decode()[1:-1], hashes)

    def _steps_of(self, batch: Batch | None) -> SettlementTransactions:
        if batch is None:
            return SettlementTransactions()
        settled = self.batches.settled
        return SettlementTransactions(*(settled(batch.number, step) for step in SettlementStep))

    def _status_of(self, batch: Batch | None, steps: SettlementTransactions) -> str:
        if batch is None:
            return "sealed"
        if batch.last_block <= self._chain.finality.finalized:
            return "verified"
        return "sealed" if steps.execute is None else "fastFinalized"

    def _fields_of(self, batch: Batch | None, steps: SettlementTransactions) -> dict[str, Any]:
        finality = self._chain.finality
        last = -1 if batch is None else batch.last_block
        return {
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


def _hash(step: SettlementTransaction | None) -> str:
    return "null" if step is None else f'"0x{step.transaction.hex()}"'
