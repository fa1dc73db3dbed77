"""What is stored of roots is replaced by what is read of L1, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from entresol.chain.chain import Chain
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.values import Hash32
from entresol.storage.log_entries import RootsEntry, apply_to_batches, decode_entry, encode_entry
from entresol.storage.root_table import BatchPath, RootCursor, RootTable
from tests.support.chain.dev_chain import open_chain, root, roots


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = open_chain()
    yield opened
    opened.close()


@pytest.fixture
def table(chain: Chain) -> RootTable:
    return chain.batches.roots


def cursor(block: int) -> RootCursor:
    return RootCursor(block, Hash32(bytes([block]) * 32), b"trees")


def path(l1_block: int) -> BatchPath:
    return BatchPath(l1_block, Hash32(b"\1" * 32), Hash32(b"\2" * 32), 3, b"words")


def numbers(found: list[InteropRoot]) -> list[int]:
    return [it.block_number for it in found]


def test_what_is_stored_is_read_as_it_was(table: RootTable) -> None:
    assert (table.cursor(), table.last(9), table.path(1)) == (None, None, None)
    table.update(1, cursor(5), roots(3), [(7, path(2))])
    assert table.cursor() == cursor(5)
    assert table.read(0, 9, 10) == roots(3)
    assert table.read(2, 9, 1) == [root(2)]
    assert table.read(0, 1, 10) == [root(1)]
    assert table.last(2) == root(2)
    assert table.path(7) == path(2)


def test_a_range_that_is_read_again_replaces_its_roots_and_drops_all_later_paths(
    table: RootTable,
) -> None:
    table.update(1, cursor(5), roots(5), [(number, path(number)) for number in range(1, 6)])
    table.update(3, cursor(4), [root(4)], [(3, path(4))])
    # What is above may be imported, and stays until it is read.
    assert numbers(table.read(0, 9, 10)) == [1, 2, 4, 5]
    found = [table.path(number) for number in range(1, 6)]
    assert found == [path(1), path(2), path(4), None, None]


def test_a_revert_of_l1_drops_the_paths_above_it(table: RootTable) -> None:
    table.update(1, cursor(5), paths=[(number, path(number)) for number in (1, 2, 3)])
    table.drop_above(2)
    assert [table.path(number) is None for number in (1, 2, 3)] == [False, False, True]


def test_a_mark_restores_the_cursor_and_the_paths(chain: Chain, table: RootTable) -> None:
    nothing = chain.batches.mark()
    table.update(1, cursor(1), paths=[(1, path(1))])
    mark = chain.batches.mark()
    table.update(2, cursor(2), paths=[(2, path(2))])
    chain.batches.revert_to(mark)
    assert table.cursor() == cursor(1)
    assert table.path(1) == path(1)
    assert table.path(2) is None
    chain.batches.revert_to(nothing)
    assert (table.cursor(), table.path(1)) == (None, None)


def test_an_entry_of_the_log_writes_the_same(chain: Chain, table: RootTable) -> None:
    entry = RootsEntry.of(1, cursor(5), roots(3), [(7, path(2))])
    apply_to_batches(chain.batches, decode_entry(encode_entry(entry)))
    assert table.cursor() == cursor(5)
    assert table.read(0, 9, 10) == roots(3)
    assert table.path(7) == path(2)


def test_a_position_alone_changes_nothing_that_readers_remember(
    chain: Chain, table: RootTable
) -> None:
    version = chain.batches.version
    table.update(1, cursor(5))
    assert chain.batches.version == version
    table.update(6, cursor(7), paths=[(1, path(6))])
    assert chain.batches.version != version
