"""Unwinding, rebuilding and importing: always the same rows."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol._native import Account, keccak256
from entresol.errors import MalformedValue, StoreDamaged, StoreFailed
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.bytecode import eravm_hash, evm_hash, pad_evm
from entresol.primitives.records import BlockRecord
from entresol.primitives.transactions import PriorityTransaction, Transaction, ZkTransaction, sign
from entresol.storage import tables
from entresol.storage.block_rows import NonEmptyBlocks, Prices, has_contents
from entresol.storage.store import Store
from tests.support.chain.block_production import sender
from tests.support.chain.records import (
    EMPTY_CODE,
    SECRET,
    SENDERS,
    SenderIndex,
    address,
    change,
    dump,
    fill,
    nodes_of,
    random_chain,
    record_after,
    transfer,
    without_shared,
)
from tests.support.hex_data import word
from tests.support.published.values import DEVELOPMENT_RULES as RULES
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
            for changed in record.changes:
                who, stored = changed.address, changed.account
                accounts[who] = None
                if stored is not None:
                    balance = int.from_bytes(stored.balance)
                    accounts[who] = Account(stored.nonce, balance, stored.code_hash)
                if changed.destroyed:
                    slots = {key: value for key, value in slots.items() if key[0] != who}
                slots |= {(who, slot): value for slot, value in changed.slots}
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
    store = Store.temporary(indexes=[SenderIndex()])
    fill(store, random_chain(random.Random(3), 30))
    retained = (tables.RECORD, tables.META)
    before = dump(store)
    # Only a fork has rows of cleared storage.
    assert {key[:1] for key in before} == {*retained, SENDERS, *tables.DERIVED} - {tables.CLEARED}
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


EMPTY = record_after(None)
FULL = record_after(None, transactions=[transfer(0)])


def test_a_block_with_transactions_or_changes_has_contents() -> None:
    assert not has_contents(EMPTY)
    assert has_contents(FULL)
    assert has_contents(record_after(None, changes=[change(address(1), 5)]))


def test_blocks_from_before_the_store_was_opened_may_have_contents() -> None:
    blocks = NonEmptyBlocks(head=3)
    for number in range(4, 10):
        blocks.add(number, FULL if number in (5, 8) else EMPTY)
    assert list(blocks.above(1)) == [2, 3, 5, 8]
    assert list(blocks.above(5)) == [8]
    assert list(blocks.above(8)) == []


@pytest.mark.parametrize(("target", "after"), [(1, [2]), (6, [3, 5, 7]), (5, [3, 5, 6])])
def test_blocks_that_replace_reverted_ones_are_known(target: int, after: list[int]) -> None:
    blocks = NonEmptyBlocks(head=3)
    for number in range(4, 10):
        blocks.add(number, FULL if number in (5, 8) else EMPTY)
    blocks.remove_above(target)
    blocks.add(target + 1, FULL)
    assert list(blocks.above(min(target, 2))) == after


def test_the_oldest_become_unknown_if_there_are_too_many() -> None:
    blocks = NonEmptyBlocks(head=None, max_blocks=4)
    for number in range(0, 10, 2):
        blocks.add(number, FULL)
        blocks.add(number + 1, EMPTY)
    assert list(blocks.above(-1)) == [0, 1, 2, 4, 6, 8]


def test_no_block_before_the_genesis_is_unknown() -> None:
    blocks = NonEmptyBlocks(head=10**12 + 2, first=10**12)
    assert list(blocks.above(-1)) == [10**12, 10**12 + 1, 10**12 + 2]
    assert blocks.count_above(10**12) == 2


CHEAP, DEAR = Prices(10**9, 10**10), Prices(2**200, 10**15)
TOKEN = Prices(10**9, 10**10, EtherPrice(3_000, 7))


def fill_prices(store: Store, *prices: Prices | None) -> None:
    for made_with in prices:
        head = None if store.head_number is None else store.get_record(store.head_number)
        store.append(record_after(head), [], made_with)


def price_rows(store: Store) -> list[int]:
    return [tables.block_of(key) for key in dump(store) if key[:1] == tables.PRICES]


def test_prices_that_stay_take_no_room(store: Store) -> None:
    fill_prices(store, CHEAP, CHEAP, CHEAP, DEAR, DEAR)
    assert price_rows(store) == [0, 3]
    assert [store.prices.at(block) for block in range(5)] == [CHEAP] * 3 + [DEAR] * 2


def test_another_price_of_ether_is_another_row(store: Store) -> None:
    fill_prices(store, CHEAP, TOKEN, TOKEN, CHEAP)
    assert price_rows(store) == [0, 1, 3]
    assert [store.prices.at(block) for block in range(4)] == [CHEAP, TOKEN, TOKEN, CHEAP]


def test_a_row_without_a_price_of_ether_is_paid_in_it() -> None:
    row = (10**9).to_bytes(32) + (10**10).to_bytes(32)
    assert Prices.unpack(row) == CHEAP
    assert CHEAP.pack() == row


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**128 - 1))
def test_every_price_of_ether_is_read_as_it_was_written(nominator: int, denominator: int) -> None:
    prices = Prices(1, 2, EtherPrice(nominator, denominator))
    assert Prices.unpack(prices.pack()) == prices


@pytest.mark.parametrize("size", [0, 1, 63, 65, 95, 97])
def test_a_row_of_another_size_is_malformed(size: int) -> None:
    with pytest.raises(MalformedValue, match="prices take 64 or 96 bytes"):
        Prices.unpack(bytes(size))


def test_ether_that_costs_nothing_is_malformed() -> None:
    with pytest.raises(MalformedValue, match="the nominator is from 1"):
        Prices.unpack(bytes(96))


def test_what_is_remembered_of_the_last_block_survives_no_unwinding(store: Store) -> None:
    fill_prices(store, CHEAP, CHEAP, DEAR)
    store.unwind(0)
    fill_prices(store, CHEAP, CHEAP, DEAR)
    assert [store.prices.at(block) for block in range(4)] == [CHEAP, CHEAP, CHEAP, DEAR]
    store.unwind(2)
    fill_prices(store, DEAR)
    assert store.prices.at(3) == DEAR


def test_a_price_that_no_word_can_hold_is_the_highest(store: Store) -> None:
    fill_prices(store, Prices(2**300, 1))
    assert store.prices.at(0) == Prices(2**256 - 1, 1)
    fill_prices(store, Prices(2**300, 1))
    assert price_rows(store) == [0]


DEPLOYED = bytes.fromhex("600160005260206000f3")
DEPENDENCY = bytes(range(32)) * 3


def deposit_with(*codes: bytes) -> Transaction:
    return Transaction.from_l1(
        PriorityTransaction(
            sender=address(8),
            to=address(9),
            gas_limit=100_000,
            gas_per_pubdata_limit=800,
            max_fee_per_gas=0,
            nonce=0,
            factory_dep_hashes=tuple(eravm_hash(code) for code in codes),
            factory_deps=codes,
        )
    )


def typed_data_with(*codes: bytes) -> Transaction:
    payload = ZkTransaction(
        nonce=0,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=10**9,
        gas_limit=100_000,
        to=address(1),
        chain_id=270,
        sender=sender(1),
        gas_per_pubdata_limit=50_000,
        factory_deps=codes,
    )
    return sign(payload, SECRET)


@pytest.mark.parametrize("name", [keccak256(DEPLOYED), evm_hash(DEPLOYED)])
def test_deployed_code_is_found_by_its_keccak_and_by_its_versioned_hash(
    store: Store, name: bytes
) -> None:
    fill(store, [record_after(None, codes=[DEPLOYED])])
    found = store.bytecode(name)
    assert found is not None
    assert found.startswith(DEPLOYED)


def test_the_versioned_hash_of_evm_code_gives_the_padded_code_that_it_is_the_hash_of(
    store: Store,
) -> None:
    fill(store, [record_after(None, codes=[DEPLOYED])])
    assert store.bytecode(evm_hash(DEPLOYED)) == pad_evm(DEPLOYED)
    assert store.bytecode(keccak256(DEPLOYED)) == DEPLOYED


@pytest.mark.parametrize("transaction", [deposit_with(DEPENDENCY), typed_data_with(DEPENDENCY)])
def test_a_factory_dependency_is_found_by_the_hash_it_was_published_under(
    store: Store, transaction: Transaction
) -> None:
    genesis = record_after(None)
    fill(store, [genesis, record_after(genesis, transactions=[transaction])])
    assert store.bytecode(eravm_hash(DEPENDENCY)) == DEPENDENCY
    assert store.bytecode(keccak256(DEPENDENCY)) is None


def test_nothing_is_found_before_the_publishing_block_or_after_its_unwind(store: Store) -> None:
    genesis = record_after(None)
    fill(store, [genesis])
    assert store.bytecode(evm_hash(DEPLOYED)) is None
    fill(store, [record_after(genesis, codes=[DEPLOYED])])
    store.unwind(0)
    assert store.bytecode(evm_hash(DEPLOYED)) is None
    assert store.bytecode(keccak256(DEPLOYED)) is None


OTHER = msgspec.structs.replace(RULES, gas_limit=RULES.gas_limit + 1)


def chain_of(count: int) -> list[BlockRecord]:
    chain = [record_after(None)]
    for _ in range(count):
        chain.append(record_after(chain[-1]))
    return chain


def rule_rows(store: Store) -> dict[bytes, bytes]:
    return {key: row for key, row in dump(store).items() if key.startswith(tables.RULES)}


def test_a_chain_that_publishes_nothing_has_no_rules(store: Store) -> None:
    fill(store, chain_of(2))
    assert (store.rules.at(2), rule_rows(store)) == (None, {})


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
    assert len(rule_rows(store)) == 1


def test_rules_that_another_process_has_written_are_not_written_again(store: Store) -> None:
    chain = chain_of(2)
    store.rules.current = RULES
    fill(store, chain[:2])
    store.rules.refresh()
    fill(store, chain[2:])
    assert len(rule_rows(store)) == 1


def test_a_row_that_is_not_readable_is_a_damaged_store(store: Store) -> None:
    store.rules.current = RULES
    fill(store, chain_of(0))
    store.loaded.write([(tables.RULES + tables.number(0), b"\xff")])
    with pytest.raises(StoreDamaged, match="block rules"):
        store.rules.at(0)
