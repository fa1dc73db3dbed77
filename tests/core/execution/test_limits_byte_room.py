"""The bytes that a block may publish, while it is built."""

from __future__ import annotations

import pytest

from entresol._native import Account
from entresol.errors import BlockFullOfData
from entresol.execution.limits import (
    MAX_BLOCK_BYTES,
    MAX_PUBLISHED_TRANSACTION,
    ByteRoom,
    published_size,
)
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.published.body import PublishedBlock, block_size, transaction_size
from entresol.primitives.published.edits import PublishedEdits
from entresol.primitives.records import StoredChange, stored_account
from entresol.primitives.transactions import SystemTransaction, Transaction
from entresol.primitives.values import Hash32
from entresol.storage.store import Store
from tests.support.chain.block_production import ETHER, Producer, call, priority, sender
from tests.support.chain.records import EMPTY_CODE

ALICE, BOB = sender(1), sender(2)


def edit_of(address: bytes) -> StoredChange:
    return StoredChange(address, stored_account(Account(1, 2, EMPTY_CODE)))


def test_a_transaction_takes_its_bytes_and_their_length() -> None:
    room, transaction = ByteRoom(), call(1, 0, BOB)
    room.take(transaction)
    assert MAX_BLOCK_BYTES - room.left == transaction_size(len(transaction.raw))


def test_a_deposit_takes_nothing_because_l1_has_it() -> None:
    room = ByteRoom(0)
    room.check(priority(BOB))
    room.take(priority(BOB))
    assert room.left == 0


def test_an_import_of_roots_takes_no_less_than_it_publishes() -> None:
    roots = tuple(
        InteropRoot.of(2**63, it, 2**63, Hash32(b"\1" * 32)) for it in range(2**60, 2**60 + 3)
    )
    counted = published_size(Transaction.of_system(SystemTransaction.root_import(roots, 0)))
    without = block_size(PublishedBlock(timestamp_step=1, deposits=1))
    with_roots = block_size(PublishedBlock(timestamp_step=1, deposits=1, roots=roots))
    assert counted >= with_roots - without - 1


def test_edits_take_what_they_publish() -> None:
    room, edits = ByteRoom(), tuple(map(edit_of, sorted((ALICE, BOB))))
    room.take_edits(edits, ())
    assert MAX_BLOCK_BYTES - room.left == len(PublishedEdits(edits).encode())


def test_edits_that_delete_code_take_what_they_publish() -> None:
    room, edit = ByteRoom(), edit_of(ALICE)
    # Records list the code of no bytes.
    room.take_edits((edit,), (b"",))
    assert MAX_BLOCK_BYTES - room.left == len(PublishedEdits((edit,)).encode())


def test_edits_that_are_too_large_leave_the_room_to_transactions() -> None:
    room = ByteRoom()
    room.take_edits(tuple(edit_of(it.to_bytes(20)) for it in range(1, 6_000)), ())
    assert room.left == MAX_BLOCK_BYTES


def test_a_block_rejects_what_it_could_not_publish_and_stays_as_it_is(store: Store) -> None:
    block = Producer(store, balances={ALICE: ETHER, BOB: ETHER}).begin()
    first, second = call(1, 0, BOB), call(2, 0, ALICE)
    block.byte_room = ByteRoom(transaction_size(len(first.raw)))
    block.run(first)
    with pytest.raises(
        BlockFullOfData, match=f"takes {published_size(second)} bytes .* has 0 left"
    ):
        block.run(second)
    assert list(block.transactions) == [first]


def test_the_largest_transaction_is_the_largest_that_a_block_alone_has_room_for() -> None:
    assert transaction_size(MAX_PUBLISHED_TRANSACTION) <= MAX_BLOCK_BYTES
    assert transaction_size(MAX_PUBLISHED_TRANSACTION + 1) > MAX_BLOCK_BYTES
