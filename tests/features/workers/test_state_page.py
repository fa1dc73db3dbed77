"""The page of shared memory: whole states or none."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from entresol.features.workers.state_page import (
    MAX_REVERTS,
    ChainState,
    Revert,
    StatePage,
    Wanted,
)
from entresol.primitives.base_token import EtherPrice


@pytest.fixture
def page() -> Iterator[StatePage]:
    created = StatePage.create()
    yield created
    created.close()


def state(head: int, reverts: int = 0) -> ChainState:
    return ChainState(
        head=head,
        head_hash=head.to_bytes(32),
        rewrites=0,
        reverts=tuple(Revert(it, head, head) for it in range(reverts)),
        beneficiary=b"\x11" * 20,
        l1_gas_price=2**62,
        ether_price=EtherPrice(2**128 - 1, 2**128 - 1).pack(),
    )


def test_a_state_is_read_as_it_was_written_by_another_mapping(page: StatePage) -> None:
    page.write(state(5, MAX_REVERTS))
    other = StatePage(os.dup(page.handle))
    assert other.read() == (2, state(5, MAX_REVERTS))
    assert other.version == page.version
    other.close()


def test_each_replica_says_what_it_wants(page: StatePage) -> None:
    page.want(3, Wanted.BLOCKS | Wanted.TRANSACTIONS)
    page.want(4, Wanted.BLOCKS)
    assert [page.wanted(it) for it in (2, 3, 4)] == [0, 3, 1]


def test_a_reader_never_takes_half_of_a_state(page: StatePage) -> None:
    page.write(state(0))
    stopped = threading.Event()

    def write() -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            page.write(state(number, number % MAX_REVERTS))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(2_000):
            read = page.read()
            if read is not None:
                head = read[1].head
                assert read[1] == state(head, head % MAX_REVERTS)
    finally:
        stopped.set()
        writer.join()
