"""The block rules of a chain that publishes its data, by block."""

from __future__ import annotations

import msgspec
import pytest

from entresol.errors import StoreDamaged
from entresol.primitives.records import BlockRecord
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.records import dump, fill, record_after
from tests.support.published.values import DEVELOPMENT_RULES as RULES

OTHER = msgspec.structs.replace(RULES, gas_limit=RULES.gas_limit + 1)


def chain_of(count: int) -> list[BlockRecord]:
    chain = [record_after(None)]
    for _ in range(count):
        chain.append(record_after(chain[-1]))
    return chain


def rows(store: Store) -> dict[bytes, bytes]:
    return {key: row for key, row in dump(store).items() if key.startswith(tables.RULES)}


def test_a_chain_that_publishes_nothing_has_no_rules(store: Store) -> None:
    fill(store, chain_of(2))
    assert (store.rules.at(2), rows(store)) == (None, {})


def test_rules_are_written_with_the_genesis_and_when_they_change(store: Store) -> None:
    chain = chain_of(4)
    store.rules.current = RULES
    fill(store, chain[:3])
    store.rules.current = OTHER
    fill(store, chain[3:])
    assert [store.rules.at(it) for it in range(5)] == [RULES, RULES, RULES, OTHER, OTHER]
    assert [store.rules.changes_at(it) for it in range(5)] == [True, False, False, True, False]


def test_rules_of_a_reverted_block_are_gone_with_it(store: Store) -> None:
    chain = chain_of(3)
    store.rules.current = RULES
    fill(store, chain[:2])
    store.rules.current = OTHER
    fill(store, chain[2:3])
    store.unwind(1)
    store.rules.current = RULES
    fill(store, chain[2:])
    assert store.rules.at(3) == RULES
    assert len(rows(store)) == 1


def test_rules_that_another_process_has_written_are_not_written_again(store: Store) -> None:
    chain = chain_of(2)
    store.rules.current = RULES
    fill(store, chain[:2])
    store.rules.refresh()
    fill(store, chain[2:])
    assert len(rows(store)) == 1


def test_a_row_that_is_not_readable_is_a_damaged_store(store: Store) -> None:
    store.rules.current = RULES
    fill(store, chain_of(0))
    store.loaded.write([(tables.RULES + tables.number(0), b"\xff")])
    with pytest.raises(StoreDamaged, match="block rules"):
        store.rules.at(0)
