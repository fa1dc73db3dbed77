"""An operator that settles batches on the contracts of L1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from entresol.primitives.values import Address
from tests.support.contracts.batches import Batch, execute_data, prove_data
from tests.support.contracts.engine import ETHER, Contract
from tests.support.contracts.l1_contracts import ALICE, OPERATOR, Deployed, direct


@dataclass
class Operator:
    """Settles batches, and records what was committed."""

    l1: Deployed
    chain: Contract
    batches: list[Batch] = field(default_factory=list)

    def commit(self, batch: Batch | None = None, **fields: Any) -> Batch:
        """Commit to the next batch, changed in these fields."""
        batch = batch or Batch(number=len(self.batches), **fields)
        self.call("commit", batch.number, batch.number, batch.commit_data(self.batches[-1]))
        self.batches.append(batch)
        return batch

    def prove(self, *batches: Batch) -> None:
        """Prove batches that follow each other."""
        data = prove_data(self.batches[batches[0].number - 1], batches)
        self.call("prove", batches[0].number, batches[-1].number, data)

    def execute(self, *batches: Batch) -> None:
        """Execute batches that follow each other."""
        self.call("execute", batches[0].number, batches[-1].number, execute_data(batches))

    def settle(self, **fields: Any) -> Batch:
        """Commit, prove and execute the next batch."""
        batch = self.commit(**fields)
        self.prove(batch)
        self.execute(batch)
        return batch

    def call(
        self, step: str, first: int, last: int, data: bytes, *, sender: Address = OPERATOR
    ) -> None:
        function = f"{step}BatchesSharedBridge"
        arguments = (self.chain.address, first, last, data)
        self.l1.engine.send(sender, self.l1.timelock, function, *arguments)

    def revert(self, last: int) -> None:
        """Revert the batches after `last`."""
        self.l1.engine.send(
            OPERATOR, self.l1.timelock, "revertBatchesSharedBridge", self.chain.address, last
        )
        del self.batches[last + 1 :]

    def totals(self) -> tuple[int, int, int]:
        """Return the last committed, proven and executed batch."""
        committed, verified, executed = (
            self.l1.engine.read(self.chain, f"getTotalBatches{step}")
            for step in ("Committed", "Verified", "Executed")
        )
        return committed, verified, executed

    def request(self) -> bytes:
        """Make a request, and return its hash."""
        answer: bytes = self.l1.engine.send(
            ALICE, self.l1.bridgehub, "requestL2TransactionDirect", direct(), value=ETHER
        )
        return answer
