"""Rules of a block that its execution does not show: named when they are broken, executed or applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol._native import Account, Snapshot, keccak256
from entresol.errors import BlockRuleBroken
from entresol.execution.block_rules import RecordRules, check_block
from entresol.execution.replay import apply_and_verify, re_execute
from entresol.primitives.headers import EMPTY_TRIE, ForkFields, Header
from entresol.primitives.records import BlockRecord, StoredChange, stored_account
from entresol.primitives.transactions import Transaction, impersonate
from entresol.primitives.values import Address, Hash32, Nonce8
from entresol.state.snapshots import HistoricalState
from entresol.storage.store import Store
from tests.support.chain.block_production import ETHER, Producer, call, priority, sender

ALICE, CARD = sender(1), Address(b"\xca" * 20)
replace = msgspec.structs.replace

PUBLISHING = RecordRules(publishes=True, accepted_types=frozenset({0, 1, 2, 4, 0x71}))
PRODUCTION = replace(PUBLISHING, is_development=False, base_fee=0)
EDIT = StoredChange(CARD, stored_account(Account(0, 5, keccak256(b""))))


@pytest.fixture
def producer() -> Iterator[Producer]:
    store = Store.temporary()
    yield Producer(store, balances={ALICE: ETHER})
    store.close()


def genesis(producer: Producer) -> Header:
    record = producer.store.get_record(0)
    assert record is not None
    return record.header()


def executed(producer: Producer, record: BlockRecord, rules: RecordRules) -> None:
    re_execute(
        record,
        genesis(producer),
        rules=producer.rules,
        snapshot=Snapshot(HistoricalState(producer.store, 0)),
        trie=producer.trie,
        record_rules=rules,
    )


def applied(producer: Producer, record: BlockRecord, rules: RecordRules) -> None:
    apply_and_verify(
        record,
        genesis(producer),
        snapshot=Snapshot(HistoricalState(producer.store, 0)),
        trie=producer.trie,
        record_rules=rules,
    )


Take = Callable[[Producer, BlockRecord, RecordRules], None]
both = pytest.mark.parametrize("take", [executed, applied])


def header_with(record: BlockRecord, **fields: Any) -> BlockRecord:
    header = replace(record.header(), **fields)
    return BlockRecord.decode(replace(record, header_rlp=header.encode()).encode())


def sealed_with(producer: Producer, *transactions: Transaction, **fields: Any) -> BlockRecord:
    """Seal the first block, whose environment has other fields than by rule."""
    executor = producer.begin()
    changed = replace(executor.env, **fields)
    other = type(executor)(producer.rules, producer.snapshot, changed, executor._parent)
    for transaction in transactions:
        other.run(transaction)
    return producer.finish(other).record


@both
def test_a_block_by_the_rules_is_taken(producer: Producer, take: Take) -> None:
    record = producer.seal(priority(CARD), call(1, 0, CARD)).record
    take(producer, record, PRODUCTION)


@both
def test_an_edit_is_named(producer: Producer, take: Take) -> None:
    record = producer.seal(edits=[EDIT]).record
    take(producer, record, PUBLISHING)
    with pytest.raises(BlockRuleBroken, match="block 1 breaks a rule of its chain: it has an edit"):
        take(producer, record, PRODUCTION)


@both
def test_a_transaction_without_signature_is_named(producer: Producer, take: Take) -> None:
    unsigned = impersonate(call(1, 0, CARD).payload, ALICE)  # type: ignore[arg-type]
    record = producer.seal(unsigned).record
    take(producer, record, PUBLISHING)
    with pytest.raises(Exception, match="transaction 0 is rejected: it is not signed"):
        take(producer, record, PRODUCTION)


@both
def test_another_prevrandao_is_named(producer: Producer, take: Take) -> None:
    record = sealed_with(producer, prevrandao=Hash32(b"\x07" * 32))
    take(producer, record, PUBLISHING)
    with pytest.raises(BlockRuleBroken, match="its PREVRANDAO is 0x0707"):
        take(producer, record, PRODUCTION)


@both
def test_a_base_fee_outside_of_the_rule_is_named(producer: Producer, take: Take) -> None:
    record = sealed_with(producer, base_fee=7)
    take(producer, record, PUBLISHING)
    with pytest.raises(BlockRuleBroken, match="its base fee is 7, and 0 by the rule of fees"):
        take(producer, record, PRODUCTION)
    with pytest.raises(
        BlockRuleBroken, match="prices that its base fee follows from are not known"
    ):
        take(producer, record, replace(PRODUCTION, base_fee=None))


@both
def test_a_deposit_behind_another_transaction_is_named(producer: Producer, take: Take) -> None:
    record = producer.seal(call(1, 0, CARD), priority(CARD)).record
    take(producer, record, RecordRules())
    with pytest.raises(BlockRuleBroken, match="transaction 1 is a deposit, after one that is not"):
        take(producer, record, PUBLISHING)


@both
def test_a_type_that_the_chain_does_not_accept_is_named(producer: Producer, take: Take) -> None:
    record = producer.seal(call(1, 0, CARD)).record
    with pytest.raises(BlockRuleBroken, match="transaction 0 has type 0x2"):
        take(producer, record, replace(PUBLISHING, accepted_types=frozenset({0})))


@both
def test_gas_limit_and_beneficiary_may_be_others(producer: Producer, take: Take) -> None:
    record = sealed_with(producer, gas_limit=10**8, beneficiary=CARD)
    take(producer, record, PRODUCTION)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"timestamp": 999}, "its timestamp is 999, before 1000 of its parent"),
        ({"extra_data": b"hi"}, "its extra_data is"),
        ({"difficulty": 1}, "its difficulty is 1, not 0"),
        ({"nonce": Nonce8(b"\1" * 8)}, "its nonce is"),
        ({"ommers_hash": Hash32.zero()}, "its ommers_hash is"),
        ({"withdrawals_root": EMPTY_TRIE}, "fields that those of an L2 have not"),
    ],
)
@both
def test_a_field_that_is_a_constant_is_named(
    producer: Producer, take: Take, fields: dict[str, Any], problem: str
) -> None:
    record = header_with(producer.seal().record, **fields)
    with pytest.raises(BlockRuleBroken, match=problem):
        take(producer, record, PUBLISHING)


def test_the_same_time_as_the_parents_is_no_fall(producer: Producer) -> None:
    record = sealed_with(producer, timestamp=genesis(producer).timestamp)
    check_block(record, genesis(producer), PRODUCTION)


def test_a_system_transaction_is_first() -> None:
    record = BlockRecord(
        Header(
            parent_hash=Hash32.zero(),
            state_root=EMPTY_TRIE,
            number=1,
            gas_limit=1,
            timestamp=1,
            base_fee_per_gas=0,
        ).encode(),
        ((b"\xff", bytes(20)), (b"\x7d", bytes(20))),
        (),
        (),
        (),
    )
    with pytest.raises(BlockRuleBroken, match="transaction 1 is the system's, but not first"):
        check_block(record, record.header(), PUBLISHING)


def test_the_page_has_the_rule_of_every_field() -> None:
    page = (Path(__file__).parents[3] / "docs/block-rules.md").read_text()
    later = {"given_hash", *ForkFields.__struct_fields__, "blob_gas_used"}
    fields = [name for name in Header.__struct_fields__ if name not in later]
    assert len(fields) == 16
    assert [name for name in fields if f"| `{name}` |" not in page] == []
