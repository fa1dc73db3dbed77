"""The page about the storage has everything that is stored; what identifies a genesis, and the keys of a state."""

from __future__ import annotations

from pathlib import Path

import pytest

from entresol import errors
from entresol.chain.chain import Chain
from entresol.chain.ledger import Ledger
from entresol.primitives import batches, records
from entresol.sequencer.sequencer import InlineSequencer
from entresol.storage import tables
from entresol.storage.database.directory import FORMAT_FILE, LOCK_FILE
from entresol.storage.store import Store
from entresol.version import FORMAT
from tests.support.chain.dev_chain import ALICE, GENESIS, NOBODY, RULES, open_chain, transaction

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "storage.md").read_text(encoding="utf-8")

TABLES = {
    name: value
    for name, value in vars(tables).items()
    if name in tables.__annotations__ and isinstance(value, bytes)
}


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"LAST_NUMBER"}))
def test_every_table_and_key_is_described(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize(
    "name", [n for n, value in TABLES.items() if len(value) == 1 and value.isalpha()]
)
def test_every_table_has_a_byte_of_its_own(name: str) -> None:
    assert f"| `{name}` | `{TABLES[name].decode()}` |" in PAGE
    assert [table for table in TABLES.values() if table == TABLES[name]] == [TABLES[name]]


@pytest.mark.parametrize(
    "kind", [kind for kind in errors.StoreFailed.__subclasses__() if kind is not errors.WrongParent]
)
def test_every_rejection_is_described(kind: type[Exception]) -> None:
    assert f"`{kind.__name__}`" in PAGE


def test_the_numbers_are_the_current_ones() -> None:
    assert f'{FORMAT_FILE}          "entresol chain, format {FORMAT}\\n"' in PAGE
    assert f"a version byte, `{records.VERSION:02x}`" in PAGE
    assert f"| batch: array of {len(batches.Batch.__struct_fields__)} |" in PAGE
    assert LOCK_FILE in PAGE


def test_the_chain_id_is_stored_with_the_genesis(store: Store) -> None:
    Ledger(store, RULES, GENESIS)
    assert store.genesis.chain_id == 270


def set_slot(chain: Chain, slot: int, value: int) -> None:
    chain.edit(NOBODY, lambda it: it.set_slot(NOBODY, slot.to_bytes(32), value.to_bytes(32)))


def test_each_address_is_listed_once_however_often_it_changed() -> None:
    chain = open_chain()
    for nonce in range(3):
        InlineSequencer(chain).send(transaction(nonce))
    listed = list(chain.ledger.store.state_keys.addresses())
    chain.close()
    assert listed == sorted(set(listed))
    assert {bytes(ALICE), bytes(NOBODY)} <= set(listed)


def test_slots_are_those_of_one_account() -> None:
    chain = open_chain()
    chain.edit(NOBODY, lambda it: it.set_balance(NOBODY, 1))
    for value in (1, 0, 2):
        for slot in (7, 9):
            set_slot(chain, slot, value)
        chain.builder.seal()
    keys = chain.ledger.store.state_keys
    assert list(keys.slots(NOBODY)) == [(7).to_bytes(32), (9).to_bytes(32)]
    assert list(keys.slots(ALICE)) == []
    chain.close()
