"""Sealed blocks and the states after them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.fees import FeeConstants, FeeModel
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.ledger import Ledger, rebuild
from entresol.chain.rules import ChainRules
from entresol.errors import (
    BlockRuleBroken,
    GenesisMismatch,
    ReplayMismatch,
    UnknownBlock,
    WrongParent,
)
from entresol.primitives.base_token import EtherPrice
from entresol.storage.block_rows import Prices
from entresol.storage.store import Store
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    GENESIS,
    NOBODY,
    RULES,
    balance,
    execute_block,
    seal_block,
    transaction,
)


@pytest.fixture
def ledger(store: Store) -> Ledger:
    return Ledger(store, RULES, GENESIS)


def test_a_reopened_chain_is_the_same(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "chain")
    ledger = Ledger(store, RULES, GENESIS)
    sealed = seal_block(ledger, transaction(0), transaction(1))
    store.close()
    store = Store.open(tmp_path / "chain")
    again = Ledger(store, RULES, GENESIS)
    assert again.head == sealed.header
    seal_block(again, transaction(2))
    assert balance(again, NOBODY, 2) == 3
    store.close()


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(GENESIS, chain_id=271),
        msgspec.structs.replace(GENESIS, timestamp=1),
        Genesis.development(270, [ALICE, NOBODY], 100 * ETHER),
    ],
)
def test_a_chain_with_another_genesis_is_rejected(store: Store, other: Genesis) -> None:
    Ledger(store, RULES, GENESIS)
    with pytest.raises(GenesisMismatch, match="holds a chain with another genesis"):
        Ledger(store, RULES, other)


def test_after_two_reverts_the_head_is_of_the_branch_between_them(ledger: Ledger) -> None:
    for nonce in range(4):
        seal_block(ledger, transaction(nonce, wei=10))
    ledger.unwind(1)
    other = seal_block(ledger, transaction(1, wei=5))
    seal_block(ledger, transaction(2, wei=5))
    ledger.unwind(2)
    assert (ledger.head, ledger.head_hash) == (other.header, other.header.hash())


@pytest.mark.parametrize("execute", [False, True])
def test_a_follower_comes_to_the_same_chain(ledger: Ledger, execute: bool) -> None:
    records = [seal_block(ledger, transaction(nonce)).record for nonce in range(3)]
    store = Store.temporary()
    follower = Ledger(store, RULES, GENESIS)
    for record in records:
        follower.import_block(record, execute=execute)
    assert follower.head == ledger.head
    assert list(follower.store.records()) == list(ledger.store.records())
    store.close()


def test_a_follower_rejects_a_block_out_of_turn(ledger: Ledger) -> None:
    record = seal_block(ledger, transaction(0)).record
    with pytest.raises(WrongParent):
        ledger.import_block(record)


def test_a_follower_rejects_a_record_that_lies_about_the_state(ledger: Ledger) -> None:
    record = execute_block(ledger, transaction(0)).record
    lying = msgspec.structs.replace(record, changes=record.changes[1:])
    with pytest.raises(ReplayMismatch, match="block 1 differs from its record: state root"):
        ledger.import_block(lying)
    assert ledger.number == 0


def test_re_execution_finds_a_wrong_result(ledger: Ledger) -> None:
    record = execute_block(ledger, transaction(0)).record
    result = msgspec.structs.replace(record.results[0], gas_used=20_999)
    lying = msgspec.structs.replace(record, results=(result,))
    with pytest.raises(ReplayMismatch, match="other results"):
        ledger.import_block(lying, execute=True)


def test_a_chain_verifies_itself_with_progress(ledger: Ledger) -> None:
    for nonce in range(3):
        seal_block(ledger, transaction(nonce))
    seen: list[tuple[int, int]] = []
    ledger.verify(lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def production() -> tuple[ChainRules, FeeModel]:
    """Return the rules of a chain that publishes and is not for development."""
    model = FeeModel(l1_gas_price=7, ether_price=EtherPrice(1, 2))
    rules = msgspec.structs.replace(
        RULES, fees=L2BaseFee(model), is_development=False, publishes=True
    )
    return rules, model


def test_a_production_chain_verifies_each_base_fee_by_the_prices_of_its_block(store: Store) -> None:
    rules, model = production()
    ledger = Ledger(store, rules, GENESIS)
    seal_block(ledger, transaction(0))
    model.set_ether_price(EtherPrice(1, 5))
    seal_block(ledger, transaction(1))
    ledger.verify()
    assert [ledger.header(it).base_fee_per_gas for it in (1, 2)] == [5 * 10**7, 2 * 10**7]


@pytest.mark.parametrize("execute", [False, True])
def test_a_production_chain_imports_no_base_fee_of_other_prices(
    store: Store, *, execute: bool
) -> None:
    rules, model = production()
    ledger = Ledger(store, rules, GENESIS)
    record = execute_block(ledger, transaction(0)).record
    other = Prices(7, 1, EtherPrice(1, 4))
    with pytest.raises(BlockRuleBroken, match="its base fee is 50000000, and 25000000 by"):
        ledger.import_block(record, execute=execute, prices=other)
    ledger.import_block(record, execute=execute, prices=model.prices())


def test_a_block_is_verified_by_the_rules_that_were_published_for_it(store: Store) -> None:
    rules, _ = production()
    ledger = Ledger(store, rules, GENESIS)
    seal_block(ledger, transaction(0))
    dearer = FeeModel(FeeConstants(minimal_l2_gas_price=2 * 10**8), 7, EtherPrice(1, 2))
    changed = msgspec.structs.replace(rules, fees=L2BaseFee(dearer))
    again = Ledger(store, changed, GENESIS)
    seal_block(again, transaction(1))
    assert [again.header(it).base_fee_per_gas for it in (1, 2)] == [5 * 10**7, 10**8]
    changed_fork = Ledger(store, msgspec.structs.replace(changed, fork="prague"), GENESIS)
    assert changed_fork.sealed_block(1).rules.fork == rules.fork != "prague"
    assert [changed_fork.rules_at(it).fork for it in (1, 3)] == [rules.fork, "prague"]
    again.verify()


@pytest.mark.parametrize("number", [-1, 1, 10**9])
def test_a_block_that_is_not_there_is_unknown(ledger: Ledger, number: int) -> None:
    with pytest.raises(UnknownBlock, match=f"there is no block with the number {number}"):
        ledger.state_after(number)


@pytest.mark.parametrize("execute", [False, True])
def test_prices_are_recorded_for_sealed_but_not_for_imported_blocks(execute: bool) -> None:
    model = FeeModel(l1_gas_price=7)
    rules = msgspec.structs.replace(RULES, fees=L2BaseFee(model))
    ours, theirs = (Store.temporary() for _ in range(2))
    ledger, follower = Ledger(ours, rules, GENESIS), Ledger(theirs, rules, GENESIS)
    executed = seal_block(ledger, transaction(0))
    follower.import_block(executed.record, execute=execute)
    noted = ours.prices.at(1)
    assert noted is not None
    assert noted.l1_gas_price == 7
    assert (ours.prices.at(0), theirs.prices.at(1)) == (None, None)
    ours.close()
    theirs.close()


def test_a_rebuilt_chain_reads_as_before_and_continues() -> None:
    store = Store.temporary()
    ledger = Ledger(store, RULES, GENESIS)
    sent = [transaction(nonce, wei=10) for nonce in range(4)]
    for it in sent:
        seal_block(ledger, it)
    seen: list[tuple[int, int]] = []
    rebuild(store, lambda done, total: seen.append((done, total)))
    assert seen == [(number, 5) for number in range(1, 6)]
    again = Ledger(store, RULES, GENESIS)
    assert [balance(again, NOBODY, number) for number in range(5)] == [0, 10, 20, 30, 40]
    assert store.locate_transaction(sent[2].hash) == (3, 0)
    assert again.trie.prove(again.header(2).state_root, NOBODY).balance == 20
    seal_block(again, transaction(4, wei=10))
    assert balance(again, NOBODY, 5) == 50
    store.close()


def test_a_record_that_does_not_lead_to_its_root_stops_a_rebuild() -> None:
    store = Store.temporary()
    ledger = Ledger(store, RULES, GENESIS)
    seal_block(ledger, transaction(0))
    record = execute_block(ledger, transaction(1)).record
    store.append(msgspec.structs.replace(record, changes=()), [])
    with pytest.raises(ReplayMismatch, match="block 2 differs from its record"):
        rebuild(store)
    store.close()
