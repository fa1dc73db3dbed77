"""The index of accounts and tokens: complete, bounded by the blocks, and as if reverted blocks had never been."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from entresol.features.explorer.account_index import (
    CALLED,
    HELD,
    HOLDER,
    AccountIndex,
    IndexedAccounts,
)
from entresol.features.explorer.settings import ExplorerConfig
from entresol.features.explorer.token_transfers import TRANSFER, TokenStandard
from entresol.node.config.schema import NodeConfig
from entresol.node.opening.chain_parts import new_store
from entresol.primitives.records import BlockRecord
from entresol.storage import tables
from entresol.storage.database.key_value import KeyValueStore, Row
from entresol.storage.store import Store
from tests.support.chain.records import (
    Log,
    address,
    chain_of,
    change,
    deposit,
    dump,
    fill,
    record_after,
    transfer,
)
from tests.support.hex_data import word

TOKEN, OTHER, ALICE, LATER = (address(it) for it in (20, 21, 22, 23))
NOBODY = bytes(20)


def moved(to: bytes, token: bytes = TOKEN, amount: int = 5) -> Log:
    return token, (TRANSFER, word(0), bytes(12) + to), word(amount)


def block_of(parent: BlockRecord | None, *logs: Log, nonce: int = 0) -> BlockRecord:
    return record_after(parent, transactions=[transfer(nonce)], logs=[logs])


TABLES = {"HOLDER": HOLDER, "HELD": HELD, "CALLED": CALLED}
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "storage.md").read_text(encoding="utf-8")


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store.temporary(indexes=[AccountIndex()])
    yield store
    store.close()


def index_of(store: Store) -> dict[bytes, bytes]:
    """Return the rows of the index, but for what reverted blocks have left."""
    head, found = store.head_number or 0, store.rows.scan(b"")
    rows = ((key, row) for key, row in found if key[:1] in AccountIndex.tables)
    return {key: row for key, row in rows if block_of_row(key, row) <= head}


def block_of_row(key: bytes, row: bytes) -> int:
    return tables.block_of(key) if key[:1] == CALLED else int.from_bytes(row[: tables.NUMBER_SIZE])


def holders(store: Store) -> list[bytes]:
    found = IndexedAccounts(store).holders(TOKEN, b"", 10, store.head_number or 0)
    return [holder.holder for holder in found]


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_described_and_has_a_byte_of_its_own(name: str) -> None:
    assert f"| `{name}` | `{TABLES[name].decode()}` |" in PAGE
    assert TABLES[name] not in vars(tables).values()
    assert list(TABLES.values()).count(TABLES[name]) == 1


def test_who_receives_a_token_is_its_holder(store: Store) -> None:
    first = record_after(None)
    second = block_of(first, moved(ALICE), moved(ALICE), moved(ALICE, OTHER))
    fill(store, [first, second, block_of(second, moved(ALICE), moved(LATER), nonce=1)])
    found = IndexedAccounts(store).tokens_of(ALICE, b"", 10, 2)
    assert {(it.token, it.block) for it in found} == {(TOKEN, 1), (OTHER, 1)}
    assert {it.standard for it in found} == {TokenStandard.ERC20}
    assert set(holders(store)) == {ALICE, LATER}
    assert IndexedAccounts(store).tokens(b"", 10, 2) == sorted([TOKEN, OTHER])


def test_the_first_transfer_of_a_block_says_which_standard_a_token_has(store: Store) -> None:
    first = record_after(None)
    unique = TOKEN, (TRANSFER, word(0), bytes(12) + ALICE, word(7)), b""
    second = block_of(first, unique, moved(ALICE))
    fill(store, [first, second, block_of(second, moved(LATER), unique, nonce=1)])
    (token,) = IndexedAccounts(store).tokens_of(ALICE, b"", 10, 2)
    assert (token.block, token.standard) == (1, TokenStandard.ERC721)


def test_burning_makes_no_holder(store: Store) -> None:
    first = record_after(None)
    fill(store, [first, block_of(first, moved(NOBODY))])
    assert not holders(store)


def test_holders_are_read_by_pages(store: Store) -> None:
    first = record_after(None)
    people = sorted(address(it) for it in range(100, 107))
    fill(store, [first, block_of(first, *map(moved, people))])
    pages, after = [], b""
    while page := IndexedAccounts(store).holders(TOKEN, after, 3, 1):
        pages.append([it.holder for it in page])
        after = page[-1].holder
    assert pages == [people[:3], people[3:6], people[6:]]


def random_blocks(randomness: random.Random, parent: BlockRecord, count: int) -> list[BlockRecord]:
    chain = [parent]
    for _ in range(count):
        logs = [
            moved(address(randomness.randrange(6)), address(30 + randomness.randrange(3)))
            for _ in range(randomness.randrange(3))
        ]
        sent = [transfer(randomness.randrange(99), to=address(randomness.randrange(9)))]
        parts = randomness.random() < 0.8
        chain.append(
            record_after(
                chain[-1],
                transactions=sent if parts else [],
                logs=[logs] if parts else [],
                changes=[change(address(randomness.randrange(9)))],
                salt=randomness.randbytes(4),
            )
        )
    return chain[1:]


@pytest.mark.parametrize("seed", range(6))
def test_reverts_leave_no_trace(store: Store, seed: int) -> None:
    randomness = random.Random(seed)
    chain = [record_after(None)]
    fill(store, chain)
    for _ in range(12):
        keep = randomness.randrange(max(0, len(chain) - 4), len(chain))
        store.unwind(keep)
        fresh = random_blocks(randomness, chain[keep], randomness.randrange(6))
        fill(store, fresh)
        chain = [*chain[: keep + 1], *fresh]
    expected = Store.temporary(indexes=[AccountIndex()])
    fill(expected, chain)
    assert index_of(store) == index_of(expected)
    expected.close()


def test_an_index_that_is_switched_on_later_is_the_same(store: Store) -> None:
    chain = [record_after(None)]
    chain += random_blocks(random.Random(7), chain[0], 600)
    fill(store, chain)
    later = Store.temporary()
    fill(later, chain)
    assert not index_of(later)
    later.keep_indexes([AccountIndex()])
    assert dump(later) == dump(store)
    later.close()


def test_an_index_that_is_switched_off_is_gone_and_can_come_back(store: Store) -> None:
    chain = [record_after(None)]
    chain += random_blocks(random.Random(8), chain[0], 20)
    fill(store, chain)
    before = index_of(store)
    store.keep_indexes([])
    assert not index_of(store)
    after = random_blocks(random.Random(9), chain[-1], 3)
    fill(store, after)
    assert not index_of(store)
    store.unwind(len(chain) - 1)
    store.keep_indexes([AccountIndex()])
    assert index_of(store) == before


def test_a_chain_that_takes_the_place_of_another_is_indexed(store: Store) -> None:
    first = record_after(None)
    fill(store, [first])
    source = Store.temporary()
    fill(source, [first, block_of(first, moved(ALICE))])
    store.prepare_replace(source)
    store.replace(source)
    assert holders(store) == [ALICE]
    source.close()


def test_who_is_called_and_not_changed_has_the_block(store: Store) -> None:
    target, changed = address(40), address(41)
    chain = chain_of(
        {},
        {"transactions": [transfer(0, to=target)]},
        {"transactions": [transfer(1, to=changed)], "changes": [change(changed)]},
        {"transactions": [deposit(0)]},
    )
    fill(store, chain)
    assert IndexedAccounts(store).last_block_of(target, 3) == 1
    assert IndexedAccounts(store).last_block_of(changed, 3) == 2
    assert IndexedAccounts(store).last_block_of(changed, 1) is None
    assert IndexedAccounts(store).last_block_of(address(9), 3) == 3
    called = [key for key in index_of(store) if key[:1] == CALLED]
    assert not any(key[1:21] == bytes(changed) for key in called)


def test_one_holder_is_found_behind_many_that_were_reverted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = record_after(None)
    second = block_of(first, moved(b"\xff" * 20))
    fill(store, [first, second])
    third = block_of(second, *map(moved, map(address, range(100, 140))), nonce=1)
    fill(store, [third])
    sizes: list[int] = []
    read = KeyValueStore.read

    def counted(db: KeyValueStore, start: bytes, prefix: bytes, count: int) -> list[Row]:
        sizes.append(count)
        return read(db, start, prefix, count)

    monkeypatch.setattr(KeyValueStore, "read", counted)
    (found,) = IndexedAccounts(store).holders(TOKEN, b"", 1, 1)
    assert (found.holder, sizes) == (b"\xff" * 20, [1, 512])


# The index follows the explorer.

TARGET = address(40)


def opened(path: Path | None, *, explorer: bool) -> Store:
    return new_store(NodeConfig().with_(ExplorerConfig, explorer=explorer), path)


def test_an_older_directory_is_indexed_when_it_is_opened_with_the_explorer(tmp_path: Path) -> None:
    path = tmp_path / "chain"
    with closing(opened(path, explorer=False)) as store:
        first = record_after(None)
        fill(store, [first, record_after(first, transactions=[transfer(0, to=TARGET)])])
        assert not IndexedAccounts(store).is_on
        assert IndexedAccounts(store).last_block_of(TARGET, 1) is None
    for _ in range(2):
        with closing(opened(path, explorer=True)) as store:
            assert IndexedAccounts(store).is_on
            assert IndexedAccounts(store).last_block_of(TARGET, 1) == 1
    with closing(opened(path, explorer=False)) as store:
        assert not IndexedAccounts(store).is_on
        assert IndexedAccounts(store).last_block_of(TARGET, 1) is None
