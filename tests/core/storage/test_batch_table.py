"""Batches on disk, and the index of transactions from L1."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import MalformedValue
from entresol.primitives.batches import Batch, DataScheme, SettlementStep, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.storage import tables
from entresol.storage.batch_table import MAX_PROBLEM, BatchPosition
from entresol.storage.log_entries import (
    BatchEntry,
    SettledEntry,
    apply_to_batches,
    decode_entry,
    encode_entry,
)
from entresol.storage.store import Store
from tests.support.chain.records import deposit, dump, fill, record_after, transfer

NUMBER = st.integers(0, 2**63)
WORD = st.binary(min_size=32, max_size=32)

BATCHES = (
    st.builds(
        Batch,
        number=NUMBER,
        first_block=NUMBER,
        last_block=NUMBER,
        first_timestamp=NUMBER,
        last_timestamp=NUMBER,
        transactions=NUMBER,
        l1_transactions=NUMBER,
        first_priority_id=NUMBER,
        priority_hash=WORD,
        priority_frontier=st.lists(WORD, max_size=4).map(tuple),
        logs=NUMBER,
        message_root=WORD,
        state_root=WORD,
    )
    | st.builds(
        lambda roots, hashed: msgspec.structs.replace(
            batch(1, 1, 1), interop_roots=roots, dependency_hash=hashed
        ),
        st.integers(1, 2**63),
        WORD,
    )
    | st.builds(
        lambda commitment, size, hashed_from: msgspec.structs.replace(
            batch(1, 1, 1),
            data_scheme=DataScheme.CALLDATA,
            data_commitment=commitment,
            data_size=size,
            hashed_from=hashed_from,
        ),
        WORD,
        NUMBER,
        NUMBER,
    )
)


def batch(number: int, first: int, last: int) -> Batch:
    word = bytes([number]) * 32
    return Batch(number, first, last, 1, 2, 3, 1, 0, word, (word,), 2, word, word)


WITH_DATA = msgspec.structs.replace(
    batch(1, 1, 3), data_scheme=DataScheme.CALLDATA, data_commitment=b"\x0c" * 32, data_size=4
)
WITH_ROOTS = msgspec.structs.replace(batch(1, 1, 1), interop_roots=2, dependency_hash=b"\7" * 32)


@given(BATCHES)
def test_a_batch_is_read_back(original: Batch) -> None:
    assert Batch.decode(original.encode()) == original


@pytest.mark.parametrize(
    "data", [b"", WITH_ROOTS.encode() + b"\0", batch(1, 1, 1).encode()[:-1], b"\x90"]
)
def test_bytes_that_are_no_batch_are_rejected(data: bytes) -> None:
    with pytest.raises(MalformedValue, match="batch"):
        Batch.decode(data)


def test_batches_are_found_by_number_by_block_and_as_the_last_one(store: Store) -> None:
    table = store.batches
    assert table.last() is None
    table.append(batch(0, 0, 0), b"", [0])
    table.append(batch(1, 1, 2), b"\xaa" * 176, [0, 1])
    assert table.last() == table.get(1) == batch(1, 1, 2)
    assert table.get(2) is None
    assert (table.logs(0), table.logs(1)) == (b"", b"\xaa" * 176)
    positions = [table.position_of_block(block) for block in range(4)]
    assert positions == [BatchPosition(0, 0), BatchPosition(1, 0), BatchPosition(1, 1), None]


def test_a_batch_is_decoded_once_until_a_row_is_rewritten(store: Store) -> None:
    table = store.batches
    table.append(batch(0, 0, 0), b"", [0])
    table.append(batch(1, 1, 2), b"", [0, 1])
    first = table.get(1)
    assert table.get(1) is first
    table.append(batch(1, 1, 1), b"", [0])
    assert table.get(1) == batch(1, 1, 1)
    assert table.position_of_block(2) is None


def test_steps_that_l1_took_above_a_block_are_reverted(store: Store) -> None:
    table = store.batches
    for number in range(4):
        table.append(batch(number, 2 * number, 2 * number + 1), b"", [0, 0])
    commit, prove, execute = SettlementStep
    for number, block in ((1, 5), (2, 6), (3, 9)):
        done = SettlementTransaction(Hash32(bytes([block]) * 32), block, 0)
        table.settle([number], commit, done)
        if number < 3:
            table.settle([number], prove, done)
    table.revert_settlement_above(5)
    assert [table.last_settled(step) for step in SettlementStep] == [1, 1, 0]
    assert [table.last_settled_block(step) for step in (commit, execute)] == [3, 1]


def test_a_settled_step_is_recorded_and_clears_its_pending_transaction(store: Store) -> None:
    table, done = store.batches, SettlementTransaction(Hash32(b"\5" * 32), 7, 1_234)
    for step in SettlementStep:
        table.set_pending_settlement(step, step.name.encode())
    table.settle([3, 4], SettlementStep.PROVE, done)
    assert [table.pending_settlement(it) for it in SettlementStep] == [b"COMMIT", None, b"EXECUTE"]
    assert table.settled(3, SettlementStep.PROVE) == table.settled(4, SettlementStep.PROVE) == done
    assert table.settled(3, SettlementStep.COMMIT) is None
    table.revert_settlement([4], SettlementStep.PROVE)
    assert table.settled(4, SettlementStep.PROVE) is None
    assert table.settled(3, SettlementStep.PROVE) == done


@pytest.mark.parametrize("done", [0, 1, 4, 5])
def test_the_last_batch_with_a_step_is_found_among_unsettled_ones(store: Store, done: int) -> None:
    table = store.batches
    assert table.last_settled(SettlementStep.EXECUTE) == 0
    for number in range(6):
        table.append(batch(number, number, number), b"", [0])
    table.settle(range(1, 6), SettlementStep.COMMIT, SettlementTransaction(Hash32.zero(), 1, 1))
    table.settle(
        range(1, done + 1), SettlementStep.EXECUTE, SettlementTransaction(Hash32.zero(), 2, 2)
    )
    assert table.last_settled(SettlementStep.COMMIT) == 5
    assert table.last_settled(SettlementStep.EXECUTE) == done


def test_a_step_that_is_corrected_leaves_what_is_under_way(store: Store) -> None:
    table, moved = store.batches, SettlementTransaction(Hash32.zero(), 9, 9)
    table.settle([1, 2], SettlementStep.COMMIT, SettlementTransaction(Hash32.zero(), 1, 1))
    table.set_pending_settlement(SettlementStep.COMMIT, b"under way")
    table.update_settlement([2], SettlementStep.COMMIT, moved)
    assert table.settled(1, SettlementStep.COMMIT) == SettlementTransaction(Hash32.zero(), 1, 1)
    assert table.settled(2, SettlementStep.COMMIT) == moved
    assert table.pending_settlement(SettlementStep.COMMIT) == b"under way"


def test_batches_and_their_settlement_are_reverted_to_a_mark(store: Store) -> None:
    table, by = store.batches, SettlementTransaction(Hash32.zero(), 1, 1)
    table.append(batch(0, 0, 0), b"", [0])
    table.append(batch(1, 1, 2), b"", [0, 0])
    table.settle([1], SettlementStep.COMMIT, by)
    table.set_pending_settlement(SettlementStep.PROVE, b"under way")
    before, mark = dump(store), table.mark()
    table.append(batch(2, 3, 3), b"\xaa" * 88, [0])
    table.settle([2], SettlementStep.COMMIT, by)
    table.settle([1, 2], SettlementStep.PROVE, by)
    table.set_pending_settlement(SettlementStep.EXECUTE, b"under way, too")
    table.revert_to(mark)
    assert dump(store) == before
    assert table.last() == batch(1, 1, 2)
    assert table.mark() == mark


def test_transactions_from_l1_are_found_by_their_number(store: Store) -> None:
    genesis = record_after(None)
    first = record_after(genesis, transactions=[deposit(0), deposit(1), transfer(0)])
    second = record_after(first, transactions=[transfer(1)])
    third = record_after(second, transactions=[deposit(2)])
    fill(store, [genesis])
    assert store.next_priority_id() == 0
    fill(store, [first, second, third])
    assert store.next_priority_id() == 3
    assert [store.locate_priority(number) for number in range(4)] == [(1, 0), (1, 1), (3, 0), None]
    store.unwind(2)
    assert store.next_priority_id() == 2
    assert store.locate_priority(2) is None


def test_an_entry_of_the_log_has_what_a_batch_publishes(store: Store) -> None:
    entry = BatchEntry.of(WITH_DATA, b"", [0] * 3, b"data")
    apply_to_batches(store.batches, decode_entry(encode_entry(entry)))
    assert (store.batches.get(1), store.batches.data(1)) == (WITH_DATA, b"data")


@pytest.mark.parametrize("gas_used", [None, 5_122_470])
def test_an_entry_of_the_log_has_the_gas_of_a_step(store: Store, gas_used: int | None) -> None:
    done = SettlementTransaction(Hash32(b"\5" * 32), 7, 1_234, gas_used)
    entry = SettledEntry.of(range(1, 3), SettlementStep.PROVE, done, ends_outgoing=True)
    apply_to_batches(store.batches, decode_entry(encode_entry(entry)))
    assert store.batches.settled(2, SettlementStep.PROVE) == done


def test_an_unwind_deletes_batches_with_unwound_blocks(store: Store) -> None:
    chain = [record_after(None)]
    for _ in range(4):
        chain.append(record_after(chain[-1]))
    fill(store, chain[:3])
    before = dump(store)
    fill(store, chain[3:])
    store.batches.append(WITH_DATA, b"\xaa" * 88, [0] * 3, b"data")
    store.batches.append(batch(2, 4, 4), b"", [0])
    for step in SettlementStep:
        store.batches.settle([1, 2], step, SettlementTransaction(Hash32(b"\5" * 32), 7, 1))
    store.unwind(2)
    known = {key: value for key, value in dump(store).items() if not key.startswith(tables.NODE)}
    assert known == {k: v for k, v in before.items() if not k.startswith(tables.NODE)}


ZERO = bytes(32)


def by(block: int) -> SettlementTransaction:
    return SettlementTransaction(Hash32(block.to_bytes(32)), block, 1_000 + block)


def append(store: Store, *numbers: int) -> None:
    for number in numbers:
        batch = Batch(number, number, number, 1, 2, 3, 1, 0, ZERO, (), 2, ZERO, ZERO)
        store.batches.append(batch, b"", [0])


def test_a_batch_is_booked_or_has_a_problem(store: Store) -> None:
    books = store.batches.books
    assert (books.get(1), books.problem_of(1), books.last_block) == (None, None, 0)
    books.unbook(1, "why")
    assert (books.get(1), books.problem_of(1)) == (None, "why")
    books.book(1, by(7))
    assert (books.get(1), books.problem_of(1), books.last_block) == (by(7), None, 7)
    books.unbook(1)
    assert (books.get(1), books.problem_of(1), books.last_block) == (None, None, 0)


def test_batches_are_found_by_the_l1_block_that_booked_them(store: Store) -> None:
    books = store.batches.books
    for number, block in ((1, 9), (2, 5), (3, 7), (4, 7)):
        books.book(number, by(block))
    assert books.above(5) == [1, 4, 3]
    assert books.above(0) == [1, 4, 3, 2]
    books.book(1, by(6))
    assert books.above(5) == [4, 3, 1]
    assert books.above(7) == []


def test_a_long_problem_is_cut(store: Store) -> None:
    store.batches.books.unbook(1, "é" * 5_000)
    assert store.batches.books.problem_of(1) == "é" * MAX_PROBLEM


def test_a_revert_of_both_layers_restores_the_books(store: Store) -> None:
    append(store, 0, 1, 2)
    store.batches.books.book(2, by(5))
    mark = store.batches.mark()
    append(store, 3)
    store.batches.books.book(1, by(6))
    store.batches.books.book(3, by(7))
    store.batches.revert_to(mark)
    assert store.batches.mark() == mark
    assert [store.batches.books.get(it) for it in (1, 2, 3)] == [None, by(5), None]


def test_the_books_of_a_reverted_batch_are_deleted(store: Store) -> None:
    append(store, 0, 1, 2)
    store.batches.books.book(1, by(5))
    store.batches.books.book(2, by(6))
    deleted = set(store.batches.keys_above(1))
    assert set(store.batches.books.keys_of(2)) <= deleted
    assert not set(store.batches.books.keys_of(1)) & deleted
