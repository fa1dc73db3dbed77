"""The pool of a chain that publishes is closed while L1 is too far behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from entresol.chain.mempool.pool import Admission
from entresol.errors import PoolRejection
from entresol.primitives.batches import Batch, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.publication.backlog import MAX_COMMITS, RESUME_COMMITS, Backlog
from entresol.storage.batch_table import BatchTable
from entresol.storage.store import Store

WORD = bytes(32)
BY = SettlementTransaction(Hash32.zero(), 1, 2)


class Sealing:
    """Batches that are sealed and committed by hand."""

    def __init__(self, batches: BatchTable) -> None:
        self.batches = batches
        self.sealed = 0
        self.committed = 0
        self.problem: str | None = None
        self.seal(transactions=0)
        self.backlog = self.reopened()
        self.admission = Admission()
        self.admission.add(self.backlog)

    def reopened(self) -> Backlog:
        return Backlog(self.batches, lambda: self.problem)

    def seal(self, count: int = 1, *, transactions: int = 1, deposits: int = 0) -> None:
        for _ in range(count):
            number = self.sealed
            batch = Batch(
                *(number, number, number, 1, 2, transactions + deposits, deposits),
                *(0, WORD, (), 0, WORD, WORD),
            )
            self.batches.append(batch, b"", [0])
            if number:
                self.backlog.on_sealed(batch)
            self.sealed += 1

    def commit(self, count: int = 1) -> None:
        first = self.committed + 1
        self.committed += count
        numbers = range(first, self.committed + 1)
        self.batches.settle(numbers, SettlementStep.COMMIT, BY)


@pytest.fixture
def sealing(tmp_path: Path) -> Iterator[Sealing]:
    with closing(Store.open(tmp_path, durable=False)) as store:
        yield Sealing(store.batches)


def test_transactions_are_accepted_while_l1_keeps_up(sealing: Sealing) -> None:
    for _ in range(3 * MAX_COMMITS):
        sealing.seal()
        sealing.commit()
        sealing.admission.check()
    sealing.seal(MAX_COMMITS)
    sealing.admission.check()
    assert sealing.backlog.problem is None


def test_they_are_rejected_by_name_with_the_reason_when_it_is_behind(sealing: Sealing) -> None:
    sealing.problem = "L1 is away"
    sealing.seal(MAX_COMMITS + 1)
    with pytest.raises(PoolRejection, match=r"65 batches .* commit .L1 is away.*fewer than 48"):
        sealing.admission.check()
    assert sealing.backlog.problem is not None
    assert sealing.backlog.size == MAX_COMMITS + 1


def test_they_are_accepted_again_only_when_little_is_left(sealing: Sealing) -> None:
    sealing.seal(MAX_COMMITS + 1)
    for left in range(MAX_COMMITS + 1, RESUME_COMMITS - 1, -1):
        assert sealing.backlog.size == left
        with pytest.raises(PoolRejection, match="L1 is behind"):
            sealing.admission.check()
        sealing.commit()
    sealing.admission.check()
    sealing.seal(MAX_COMMITS - RESUME_COMMITS)
    sealing.admission.check()


def test_empty_batches_and_deposits_do_not_count(sealing: Sealing) -> None:
    sealing.seal(3 * MAX_COMMITS, transactions=0)
    sealing.seal(3 * MAX_COMMITS, transactions=0, deposits=7)
    sealing.admission.check()
    assert sealing.backlog.size == 0


def test_a_restart_finds_what_waits(sealing: Sealing) -> None:
    sealing.seal(2 * MAX_COMMITS)
    sealing.commit(10)
    reopened = sealing.reopened()
    assert reopened.size == 2 * MAX_COMMITS - 10
    assert isinstance(reopened.rejection(), PoolRejection)


def test_a_condition_that_is_removed_is_not_asked(sealing: Sealing) -> None:
    sealing.seal(2 * MAX_COMMITS)
    sealing.admission.remove(sealing.backlog)
    sealing.admission.check()
