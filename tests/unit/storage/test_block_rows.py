"""Unwinding, rebuilding and importing: always the same rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Account
from entresol.errors import StoreFailed
from entresol.primitives.records import BlockRecord
from entresol.storage import tables
from entresol.storage.store import Store
from entresol.storage.token_transfers import TRANSFER
from tests.support.chain.records import (
    EMPTY_CODE,
    address,
    dump,
    fill,
    nodes_of,
    random_chain,
    record_after,
    transfer,
    without_shared,
)
from tests.support.hex_data import word
from tests.support.run.examples import examples

chains = st.builds(random_chain, st.randoms(use_true_random=False), st.integers(1, 12))
few = settings(max_examples=examples(25))


class Model:
    """The state after each block, as dictionaries."""

    def __init__(self, chain: list[BlockRecord]) -> None:
        self.accounts: list[dict[bytes, Account | None]] = []
        self.slots: list[dict[tuple[bytes, bytes], bytes]] = []
        accounts: dict[bytes, Account | None] = {}
        slots: dict[tuple[bytes, bytes], bytes] = {}
        for record in chain:
            for change in record.changes:
                who, stored = change.address, change.account
                accounts[who] = None
                if stored is not None:
                    balance = int.from_bytes(stored.balance)
                    accounts[who] = Account(stored.nonce, balance, stored.code_hash)
                if change.destroyed:
                    slots = {key: value for key, value in slots.items() if key[0] != who}
                slots |= {(who, slot): value for slot, value in change.slots}
            self.accounts.append(dict(accounts))
            self.slots.append(dict(slots))


@few
@given(chains)
def test_every_account_and_slot_is_known_at_every_block(chain: list[BlockRecord]) -> None:
    store, model = Store.temporary(), Model(chain)
    fill(store, chain)
    for number in range(len(chain)):
        for who in map(address, range(6)):
            assert store.account(who, number) == model.accounts[number].get(who)
            for slot in map(word, range(3)):
                value = model.slots[number].get((who, slot), b"")
                assert store.slot(who, slot, number) == value
    store.close()


@few
@given(chains, st.data())
def test_going_back_leaves_what_was_there_before(
    chain: list[BlockRecord], data: st.DataObject
) -> None:
    target = data.draw(st.integers(0, len(chain) - 1))
    # A temporary store has its head in memory, unless others read it.
    store = Store.temporary(shared=True)
    fill(store, chain[: target + 1])
    before = dump(store)
    fill(store, chain[target + 1 :])
    everything = dump(store)
    store.unwind(target)
    assert store.head_number == target
    assert without_shared(dump(store)) == without_shared(before)
    assert dump(store).items() >= before.items()
    fill(store, chain[target + 1 :])
    assert dump(store) == everything
    store.close()


@few
@given(st.randoms(use_true_random=False), st.lists(st.integers(0, 8), min_size=2, max_size=6))
def test_branches_leave_nothing_of_each_other(rng: random.Random, targets: list[int]) -> None:
    store, chain = Store.temporary(), random_chain(rng, 10)
    fill(store, chain)
    for target in targets:
        store.unwind(target)
        length = len(chain[: target + 1]) + rng.randint(1, 4)
        chain = random_chain(rng, length, chain[: target + 1])
        fill(store, chain[(store.head_number or 0) + 1 :])
    fresh = Store.temporary()
    fill(fresh, chain)
    assert without_shared(dump(store)) == without_shared(dump(fresh))
    store.close()
    fresh.close()


@few
@given(chains)
def test_rebuilding_gives_the_same_bytes(chain: list[BlockRecord]) -> None:
    store = Store.temporary()
    fill(store, chain)
    before, steps = dump(store), []
    store.rebuild(nodes_of, lambda done, of: steps.append((done, of)))
    assert dump(store) == before
    assert steps == [(number + 1, len(chain)) for number in range(len(chain))]
    store.close()


def test_every_table_but_the_records_can_be_rebuilt() -> None:
    store = Store.temporary()
    store.index_accounts()
    chain = random_chain(random.Random(3), 30)
    moved = (address(1), (TRANSFER, word(0), word(7)), word(5))
    fill(store, [*chain, record_after(chain[-1], transactions=[transfer(999)], logs=[[moved]])])
    retained = (tables.RECORD, tables.META)
    before = dump(store)
    # Only a fork has rows of cleared storage.
    assert {key[:1] for key in before} == {*retained, *tables.DERIVED} - {tables.CLEARED}
    store._db.write([], [key for key in before if not key.startswith(retained)])
    store.rebuild(nodes_of)
    assert dump(store) == before
    store.close()


def test_going_back_to_the_head_or_beyond_changes_nothing(store: Store) -> None:
    store.unwind(5)
    assert (store.head_number, dump(store)) == (None, {})
    fill(store, random_chain(random.Random(1), 3))
    before = dump(store)
    for number in (2, 3, 100):
        store.unwind(number)
        assert (store.head_number, dump(store)) == (2, before)


def test_a_reverted_block_is_unknown_also_after_reopening(tmp_path: Path) -> None:
    genesis = record_after(None)
    ours, theirs = record_after(genesis, salt=b"1"), record_after(genesis, salt=b"2")
    store = Store.open(tmp_path)
    fill(store, [genesis, ours])
    store.unwind(0)
    for reopened in (False, True):
        if reopened:
            store.close()
            store = Store.open(tmp_path)
        assert list(store.records()) == [genesis]
        assert store.block_hash(1) is None
        assert store.block_number(ours.header().hash()) is None
    fill(store, [theirs])
    assert store.block_number(theirs.header().hash()) == 1
    assert tables.NUMBER_OF_HASH + ours.header().hash() not in dict(store._db.scan(b""))
    store.close()


def test_a_store_without_sync_is_whole_after_closing(tmp_path: Path) -> None:
    store = Store.open(tmp_path, durable=False)
    fill(store, random_chain(random.Random(6), 20))
    before = dump(store)
    store.close()
    store = Store.open(tmp_path)
    assert dump(store) == before
    store.close()


def test_an_interrupted_rebuild_can_only_be_done_again(tmp_path: Path) -> None:
    def interrupt(done: int, _of: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    store = Store.open(tmp_path)
    fill(store, random_chain(random.Random(7), 20))
    before = dump(store)
    with pytest.raises(KeyboardInterrupt):
        store.rebuild(nodes_of, interrupt)
    store.close()
    with pytest.raises(StoreFailed, match="rebuild it again"):
        Store.open(tmp_path)
    store = Store.open(tmp_path, rebuilding=True)
    store.rebuild(nodes_of)
    assert dump(store) == before
    store.close()
    Store.open(tmp_path).close()


def test_an_account_that_never_changed_is_none_at_any_block(store: Store) -> None:
    fill(store, random_chain(random.Random(9), 3))
    assert store.account(bytes(20), 2) is None
    assert store.account(b"\xff" * 20, 2**64 - 1) is None
    assert store.account(address(0), 2**64 - 1) == store.account(address(0), 2)
    assert EMPTY_CODE not in {key[1:] for key in dump(store) if key.startswith(tables.CODE)}
