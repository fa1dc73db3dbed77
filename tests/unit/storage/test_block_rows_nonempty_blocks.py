"""Blocks with contents are found without reading the empty ones."""

from __future__ import annotations

import pytest

from entresol.storage.block_rows import NonEmptyBlocks, has_contents
from tests.support.chain.records import address, change, record_after, transfer

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
