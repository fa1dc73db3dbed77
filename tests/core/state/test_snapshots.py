"""The state after a block, as the engine reads it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from entresol._native import Account, Snapshot, keccak256
from entresol.errors import StoreFailed
from entresol.state.snapshots import HistoricalState, Snapshots
from entresol.storage.store import Store
from tests.support.chain.records import address, change, fill, record_after
from tests.support.hex_data import word

ALICE = address(1)


@pytest.fixture
def store() -> Iterator[Store]:
    """Return a chain in which Alice changes at every block."""
    store, parent = Store.temporary(), None
    for number in range(4):
        parent = record_after(
            parent,
            changes=[change(ALICE, number, code=b"\x01", slots=[(1, number)])],
            codes=[b"\x01"],
        )
        fill(store, [parent])
    yield store
    store.close()


@pytest.mark.parametrize("number", range(4))
def test_a_state_is_that_after_its_block(store: Store, number: int) -> None:
    state = HistoricalState(store, number)
    assert state.account(ALICE) == Account(0, number, keccak256(b"\x01"))
    assert state.slot(ALICE, word(1)) == (bytes([number]) if number else b"")
    assert state.code(keccak256(b"\x01")) == b"\x01"


def test_code_that_is_missing_is_a_failure(store: Store) -> None:
    with pytest.raises(StoreFailed, match=r"code 0x0000.* is missing"):
        HistoricalState(store, 0).code(bytes(32))


def test_block_hashes_are_those_of_the_store(store: Store) -> None:
    state = HistoricalState(store, 3)
    assert state.block_hash(2) == store.block_hash(2)
    assert state.block_hash(9) == bytes(32)


def test_the_error_of_a_store_reaches_who_reads_the_state_as_it_is(store: Store) -> None:
    snapshot = Snapshot(HistoricalState(store, 3))
    store.close()
    with pytest.raises(StoreFailed, match="is closed"):
        snapshot.account(ALICE)


def test_the_least_recently_used_snapshot_is_evicted(store: Store) -> None:
    snapshots = Snapshots(store, max_snapshots=2)
    first, second = snapshots.after(0), snapshots.after(1)
    assert snapshots.after(0) is first
    snapshots.after(2)
    assert snapshots.after(0) is first
    assert snapshots.after(1) is not second


def test_snapshots_of_reverted_blocks_are_evicted(store: Store) -> None:
    snapshots = Snapshots(store)
    cached, reverted = snapshots.after(1), snapshots.after(2)
    store.unwind(1)
    snapshots.evict_above(1)
    assert snapshots.after(1) is cached
    assert snapshots.after(2) is not reverted


def test_snapshots_may_be_read_from_any_thread(store: Store) -> None:
    snapshots = Snapshots(store, max_snapshots=2)

    def read(turn: int) -> None:
        number = turn % 4
        assert snapshots.after(number).account(ALICE) == Account(0, number, keccak256(b"\x01"))
        snapshots.evict_above(turn % 3)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(400)))
