"""Books on disk: where batches were booked, why not, and what reverts of either layer leave of them."""

from __future__ import annotations

from entresol.primitives.batches import Batch, SettlementTransaction
from entresol.primitives.values import Hash32
from entresol.storage.batch_table import MAX_PROBLEM
from entresol.storage.store import Store

WORD = bytes(32)


def by(block: int) -> SettlementTransaction:
    return SettlementTransaction(Hash32(block.to_bytes(32)), block, 1_000 + block)


def append(store: Store, *numbers: int) -> None:
    for number in numbers:
        batch = Batch(number, number, number, 1, 2, 3, 1, 0, WORD, (), 2, WORD, WORD)
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
