"""The open batch: what blocks that import roots add to it, and which limits they reach."""

from __future__ import annotations

from typing import cast

import pytest

from entresol.errors import StoreDamaged
from entresol.primitives import interop_roots as roots
from entresol.primitives.interop_roots import (
    MAX_ROOTS_PER_BATCH,
    MAX_ROOTS_PER_IMPORT,
    InteropRoot,
    rolling_hash,
)
from entresol.primitives.records import BlockRecord, TransactionResult
from entresol.primitives.transactions.system import SystemTransaction
from entresol.primitives.values import Hash32
from entresol.rollup.batches import (
    OpenBatch,
    SealingPolicy,
    commit_info_of,
    imported_roots_of,
    stored_info_of,
)
from entresol.rollup.commitments import execute_data
from entresol.rollup.priority_tree import Frontier, PriorityOpsBatchInfo
from entresol.storage.store_view import StoreView
from tests.support.chain.records import record_after, transfer

POLICY = SealingPolicy()


def some_roots(first: int, count: int) -> list[InteropRoot]:
    numbers = range(first, first + count)
    return [
        InteropRoot.of(31337, number, 1_000 + number, Hash32(number.to_bytes(32)))
        for number in numbers
    ]


def importing(record: BlockRecord, imported: list[InteropRoot]) -> BlockRecord:
    """Return the record with a first transaction that imports roots."""
    raw = SystemTransaction.root_import(imported, 1).encode()
    return BlockRecord(
        record.header_rlp,
        ((raw, bytes(18) + b"\x80\x01"), *record.transactions),
        (TransactionResult(succeeded=True, gas_used=50_000), *record.results),
        record.changes,
        record.codes,
    )


def opened() -> OpenBatch:
    return OpenBatch(1, 1, Frontier())


def test_a_batch_has_the_rolling_hash_of_the_roots_that_its_blocks_import() -> None:
    batch, first = opened(), record_after(record_after(None))
    batch.add(importing(first, some_roots(5, 2)), 0.0)
    batch.add(record_after(first, transactions=[transfer(1)]), 0.0)
    batch.add(importing(first, some_roots(9, 1)), 0.0)
    sealed = batch.seal().batch
    imported = some_roots(5, 2) + some_roots(9, 1)
    assert (sealed.interop_roots, sealed.dependency_hash) == (3, rolling_hash(imported))
    assert commit_info_of(sealed, 270).dependency_hash == rolling_hash(imported)
    assert stored_info_of(sealed, 270).dependency_hash == rolling_hash(imported)


def test_a_batch_without_roots_has_the_hash_zero() -> None:
    batch = opened()
    batch.add(record_after(record_after(None), transactions=[transfer(1)]), 0.0)
    sealed = batch.seal().batch
    assert (sealed.interop_roots, sealed.dependency_hash) == (0, bytes(32))


def test_a_batch_takes_no_more_roots_than_one_transaction_of_l1_can_list() -> None:
    batch, record = opened(), record_after(record_after(None))
    added = 0
    while batch.has_room_for(
        block := importing(record, some_roots(added + 1, MAX_ROOTS_PER_IMPORT)), POLICY
    ):
        batch.add(block, 0.0)
        added += MAX_ROOTS_PER_IMPORT
    assert added == MAX_ROOTS_PER_BATCH // MAX_ROOTS_PER_IMPORT * MAX_ROOTS_PER_IMPORT
    assert not batch.is_full(POLICY)
    batch.add(importing(record, some_roots(added + 1, MAX_ROOTS_PER_BATCH - added)), 0.0)
    assert batch.is_full(POLICY)


def test_the_largest_batch_is_executed_by_a_transaction_that_nodes_of_l1_take() -> None:
    word = Hash32(b"\xff" * 32)
    largest = PriorityOpsBatchInfo((word,) * 64, (word,) * 64, (word,) * 1_024)
    batch = opened().seal().batch
    declared = some_roots(1, MAX_ROOTS_PER_BATCH)
    data = execute_data([stored_info_of(batch, 270)], [largest], [declared])
    assert len(data) < 120_000
    one = execute_data([stored_info_of(batch, 270)], [largest], [declared[1:]])
    assert len(data) - len(one) == roots.ENCODED_ROOT_BYTES


class Blocks:
    """The records of some blocks."""

    path = "nowhere"

    def __init__(self, **records: BlockRecord) -> None:
        self._records = records

    def get_record(self, number: int) -> BlockRecord | None:
        return self._records.get(f"block_{number}")


def test_the_roots_of_a_batch_are_read_from_its_blocks() -> None:
    record = importing(record_after(record_after(None)), some_roots(5, 2))
    batch = opened()
    batch.add(record, 0.0)
    blocks = cast(StoreView, Blocks(block_1=record))
    assert imported_roots_of(blocks, batch.seal().batch) == some_roots(5, 2)


def test_a_block_that_is_missing_is_named() -> None:
    batch = opened()
    batch.add(importing(record_after(record_after(None)), some_roots(5, 2)), 0.0)
    with pytest.raises(StoreDamaged, match="block 1"):
        imported_roots_of(cast(StoreView, Blocks()), batch.seal().batch)


def test_blocks_that_only_import_roots_start_no_clock_and_the_next_transaction_does() -> None:
    batch, record = opened(), record_after(record_after(None))
    batch.add(importing(record, some_roots(1, 1)), 5.0)
    assert not batch.is_old(POLICY, 1e9)
    batch.add(importing(record_after(record, transactions=[transfer(1)]), some_roots(2, 1)), 7.0)
    assert batch.is_old(POLICY, 7.0 + POLICY.max_age)
    assert batch.seal().batch.transactions == 3


def test_a_chain_that_only_imports_seals_a_batch_when_it_has_enough_blocks() -> None:
    batch, record = opened(), record_after(record_after(None))
    for number in range(4):
        batch.add(importing(record, some_roots(number + 1, 1)), 0.0)
    assert batch.is_full(SealingPolicy(max_blocks=4))
    assert not batch.is_full(SealingPolicy(max_blocks=5))
