"""Batches that L1 has executed although they do not follow from their data: taken from a snapshot, and only as L1 has them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from entresol.errors import DerivationAlarm, SnapshotRejected, UnderivableBatch
from entresol.features.derive.l1_events import BatchClaim
from entresol.features.derive.snapshot import BatchSnapshot
from tests.support.features.derive.liar import Liar
from tests.support.features.derive.operated_chain import (
    DerivedChain,
    OperatedChain,
    assert_same_blocks,
    republished,
    seen,
    with_block,
)
from tests.support.known import known
from tests.support.rollup.published_traffic import EDITED


@pytest.fixture
def liar() -> Iterator[Liar]:
    found = Liar(3)
    yield found
    found.derived.close()
    found.operator.close()


def lie_of(liar: Liar) -> BatchClaim:
    """Return a batch of the operator with data that is garbage, to which L1 has the right commitment."""
    return liar.committed(msgspec.structs.replace(liar.truth, data=b"\x01garbage"))


def snapshot_of(liar: Liar, batch: int = 2) -> BatchSnapshot:
    return BatchSnapshot(liar.operator.chain.ledger.store, batch)


def accept(derived: DerivedChain, claim: BatchClaim, snapshot: BatchSnapshot) -> None:
    derived.chain.batches.append(*derived.deriver.accept(claim, snapshot))


def test_a_batch_is_accepted_as_a_snapshot_has_it_and_the_next_one_is_derived(liar: Liar) -> None:
    derived, operator, lie = liar.derived, liar.operator, lie_of(liar)
    with pytest.raises(UnderivableBatch):
        derived.derive(lie)
    accept(derived, lie, snapshot_of(liar))
    last = known(derived.chain.batches.last())
    assert (last.number, last.state_root) == (2, lie.state_root)
    assert derived.chain.batches.data(2) == lie.data
    operator.seal()
    derived.derive(operator.seal_batch())
    assert derived.chain.head == operator.chain.head
    assert derived.chain.prices.at(derived.chain.number) == operator.chain.prices.at(
        operator.chain.number
    )


def test_a_batch_whose_state_does_not_follow_from_its_data_is_accepted(liar: Liar) -> None:
    index = liar.at(lambda block: block.transactions)
    lie = liar.committed(
        republished(liar.truth, lambda batch: with_block(batch, index, transactions=()))
    )
    with pytest.raises(DerivationAlarm):
        liar.derived.derive(lie)
    accept(liar.derived, lie, snapshot_of(liar))
    assert liar.derived.chain.head == liar.operator.chain.head
    assert liar.derived.chain.batches.data(2) == lie.data


def test_an_edit_that_a_production_chain_must_not_have_is_accepted_once_l1_has_it() -> None:
    operator = OperatedChain(is_development=False)
    operator.seal()
    derived = DerivedChain(operator)
    derived.derive(operator.seal_batch())
    chain = operator.chain
    # Past the check that an honest operator has.
    edit = chain.prepare_edit(lambda state: state.set_balance(EDITED, 10**30))
    chain.edits.restore(edit.after, 1)
    operator.seal()
    stolen = operator.seal_batch()
    with pytest.raises(DerivationAlarm, match="edit"):
        derived.derive(stolen)
    accept(derived, stolen, BatchSnapshot(chain.ledger.store, 2))
    operator.seal()
    derived.derive(operator.seal_batch())
    assert_same_blocks(derived.chain, operator.chain)
    derived.close()
    operator.close()


def test_a_snapshot_with_another_batch_than_l1_is_rejected_and_changes_nothing(liar: Liar) -> None:
    before = seen(liar.derived.chain)
    for field, value in (
        ("state_root", b"\x05" * 32),
        ("commitment", b"\x06" * 32),
        ("data", b"\x01other"),
    ):
        kind = type(getattr(lie_of(liar), field))
        claim = msgspec.structs.replace(lie_of(liar), **{field: kind(value)})
        with pytest.raises(SnapshotRejected, match=r"state_root|commitment"):
            accept(liar.derived, claim, snapshot_of(liar))
        assert seen(liar.derived.chain) == before
    # It is still right that the truth is derived.
    liar.derived.derive(liar.truth)
    assert_same_blocks(liar.derived.chain, liar.operator.chain)


def test_a_snapshot_that_ends_before_the_batch_is_rejected(liar: Liar) -> None:
    store = liar.derived.chain.ledger.store
    with pytest.raises(SnapshotRejected, match="it ends with block"):
        accept(liar.derived, lie_of(liar), BatchSnapshot(store, 2))


def test_a_snapshot_of_another_chain_is_rejected(liar: Liar) -> None:
    other = Liar(4)
    with pytest.raises(SnapshotRejected, match="is not its parent"):
        accept(liar.derived, lie_of(liar), snapshot_of(other))
    other.derived.close()
    other.operator.close()


def test_a_snapshot_whose_receipts_are_not_those_of_its_headers_is_rejected(
    liar: Liar, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = liar.operator.chain.ledger.store
    right = store.record

    def forged(number: int) -> object:
        record = right(number)
        if not record.results:
            return record
        first, *others = record.results
        changed = msgspec.structs.replace(first, gas_used=first.gas_used + 1)
        return msgspec.structs.replace(record, results=(changed, *others))

    monkeypatch.setattr(store, "record", forged)
    with pytest.raises(SnapshotRejected, match="not those of its header"):
        accept(liar.derived, lie_of(liar), snapshot_of(liar))
