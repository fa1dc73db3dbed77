"""Where on L1 the batches of a derived chain are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from entresol.errors import MalformedValue
from entresol.primitives.batches import SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.storage.derivation_table import DerivedPosition
from entresol.storage.store import Store
from tests.support.derivation.scripted_l1 import ScriptedLayerOne

POSITION = DerivedPosition(7, Hash32(b"\x07" * 32), 3, 5)
COMMIT = SettlementTransaction(Hash32(b"\x08" * 32), 7, 99)


@pytest.fixture
def store() -> Iterator[Store]:
    opened = Store.temporary()
    yield opened
    opened.close()


def test_a_position_is_read_as_it_was_written() -> None:
    assert DerivedPosition.unpack(POSITION.pack()) == POSITION
    with pytest.raises(MalformedValue, match="takes 52 bytes, got 51"):
        DerivedPosition.unpack(POSITION.pack()[1:])


def test_a_batch_is_written_with_its_position_and_its_commit(store: Store) -> None:
    batch = ScriptedLayerOne().batch(1)
    store.batches.append_derived((batch, b"", [0] * 2, b"data"), POSITION, COMMIT)
    assert store.batches.last() == batch
    assert store.batches.data(1) == b"data"
    assert store.batches.derivation.at(1) == POSITION
    assert store.batches.settled(1, SettlementStep.COMMIT) == COMMIT
    assert set(store.batches.derivation.keys_of(1)) <= set(store.batches.keys_above(0))
    assert list(store.batches.derivation.keys_of(2)) == []


def test_a_chain_that_a_node_continues_is_not_derived_any_more(store: Store) -> None:
    table = store.batches.derivation
    found = [table.is_open]
    for change in (table.begin, table.begin, table.end, table.end):
        change()
        found.append(table.is_open)
    assert found == [False, True, True, False, False]


def test_alarms_are_counted_for_a_chain_that_is_derived_also_once_a_node_continues_it(
    store: Store,
) -> None:
    table = store.batches.derivation
    counts = [table.alarm_count]
    for change in (
        table.begin,
        partial(table.set_alarm, "batch 2"),
        partial(table.set_alarm, None),
        partial(table.set_alarm, "batch 2"),
        table.begin,
        table.end,
    ):
        change()
        counts.append(table.alarm_count)
    assert counts == [None, 0, 1, 1, 2, 2, 2]


def test_the_final_batch_never_falls(store: Store) -> None:
    table = store.batches.derivation
    assert table.final_batch == 0
    table.set_final_batch(4)
    table.set_final_batch(3)
    assert table.final_batch == 4
