"""A snapshot: a directory with blocks that do not follow from what is on L1, and that L1 has executed all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from entresol.errors import MalformedValue, ReplayMismatch
from entresol.execution.block_executor import ExecutedBlock, roots_of_body
from entresol.execution.replay import apply_and_verify
from entresol.features.derive.errors import SnapshotRejected
from entresol.storage.derivation_table import AcceptedBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from entresol.chain.ledger import Ledger
    from entresol.features.derive.errors import DerivationAlarm
    from entresol.primitives.batches import Batch
    from entresol.primitives.published.rules import BlockRules
    from entresol.primitives.records import BlockRecord
    from entresol.storage.block_rows import Prices
    from entresol.storage.store import Store


class SnapshotBlock(NamedTuple):
    """A block of a snapshot, with what no header has."""

    record: BlockRecord
    prices: Prices | None
    rules: BlockRules


class BatchSnapshot:
    """The blocks and the batch of a chain in another directory.

    Assumes: nobody else has the directory open. Fails: with `SnapshotRejected` if it does not have the blocks of a
    batch.
    """

    def __init__(self, store: Store, batch: int) -> None:
        """Take the blocks of `batch` from there."""
        self._store = store
        self.batch = batch

    @property
    def name(self) -> str:
        """The directory, for messages."""
        return str(self._store.path)

    def accepted(self, batch: Batch, alarm: DerivationAlarm) -> AcceptedBatch:
        """Return what has to be known for ever of a batch that was taken from here."""
        return AcceptedBatch(
            batch.number, batch.first_block, batch.last_block, str(alarm), self.name
        )

    def hashed_from(self, number: int) -> int:
        """Return from which block on L1 is not enough, by a batch of the snapshot; 0 if it says none."""
        batch = self._store.batches.get(number)
        return 0 if batch is None else batch.hashed_from

    def blocks(self, first: int, last: int) -> Iterator[SnapshotBlock]:
        """Yield blocks in order."""
        head = self._store.head_number
        if head is None or head < last:
            raise SnapshotRejected(
                self.batch, self.name, f"it ends with block {head}, and the batch with {last}"
            )
        for number in range(first, last + 1):
            record, rules = self._store.record(number), self._store.rules.at(number)
            if rules is None:
                raise SnapshotRejected(
                    self.batch, self.name, f"its block {number} has no rules: it publishes nothing"
                )
            yield SnapshotBlock(record, self._store.prices.at(number), rules)


def applied(record: BlockRecord, ledger: Ledger) -> ExecutedBlock:
    """Return a block that follows the head as if it had been executed; raise `ReplayMismatch` if it does not fit.

    Its header, its roots and its state belong together. Nothing says that the state follows from its transactions.
    """
    header = record.header()
    if (header.number, header.parent_hash) != (ledger.number + 1, ledger.head_hash):
        raise ReplayMismatch(header.number, f"block {ledger.number} is not its parent")
    try:
        roots = roots_of_body(record)
        transactions = tuple(record.decoded())
    except MalformedValue as error:
        raise ReplayMismatch(header.number, f"it cannot be read: {error}") from error
    if roots != (header.transactions_root, header.receipts_root):
        raise ReplayMismatch(
            header.number, "its transactions or receipts are not those of its header"
        )
    overlay, nodes = apply_and_verify(record, ledger.head, snapshot=ledger.latest, trie=ledger.trie)
    return ExecutedBlock(header, transactions, record, nodes, overlay, {}, {})
