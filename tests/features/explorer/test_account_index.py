"""The index of accounts and tokens: complete, bounded by the blocks, and as if reverted blocks had never been."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from entresol.features.explorer import account_index
from entresol.features.explorer.token_transfers import TRANSFER, TokenStandard
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

TOKEN, OTHER, HOLDER, LATER = (address(it) for it in (20, 21, 22, 23))
NOBODY = bytes(20)
INDEXED = (tables.HOLDER, tables.HELD, tables.CALLED)


def moved(to: bytes, token: bytes = TOKEN, amount: int = 5) -> Log:
    return token, (TRANSFER, word(0), bytes(12) + to), word(amount)


def block_of(parent: BlockRecord | None, *logs: Log, nonce: int = 0) -> BlockRecord:
    return record_after(parent, transactions=[transfer(nonce)], logs=[logs])


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store.temporary()
    store.index_accounts()
    yield store
    store.close()


def index_of(store: Store) -> dict[bytes, bytes]:
    return {key: row for key, row in dump(store).items() if key[:1] in INDEXED}


def holders(store: Store) -> list[bytes]:
    return [
        holder.holder for holder in store.accounts.holders(TOKEN, b"", 10, store.head_number or 0)
    ]


def test_who_receives_a_token_is_its_holder(store: Store) -> None:
    first = record_after(None)
    second = block_of(first, moved(HOLDER), moved(HOLDER), moved(HOLDER, OTHER))
    fill(store, [first, second, block_of(second, moved(HOLDER), moved(LATER), nonce=1)])
    found = store.accounts.tokens_of(HOLDER, b"", 10, 2)
    assert {(it.token, it.block) for it in found} == {(TOKEN, 1), (OTHER, 1)}
    assert {it.standard for it in found} == {TokenStandard.ERC20}
    assert set(holders(store)) == {HOLDER, LATER}
    assert store.accounts.tokens(b"", 10, 2) == sorted([TOKEN, OTHER])


def test_the_first_transfer_of_a_block_says_which_standard_a_token_has(store: Store) -> None:
    first = record_after(None)
    unique = TOKEN, (TRANSFER, word(0), bytes(12) + HOLDER, word(7)), b""
    second = block_of(first, unique, moved(HOLDER))
    fill(store, [first, second, block_of(second, moved(LATER), unique, nonce=1)])
    (token,) = store.accounts.tokens_of(HOLDER, b"", 10, 2)
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
    while page := store.accounts.holders(TOKEN, after, 3, 1):
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
    expected = Store.temporary()
    expected.index_accounts()
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
    later.index_accounts()
    assert dump(later) == dump(store)
    later.close()


def test_an_index_that_is_switched_off_is_gone_and_can_come_back(store: Store) -> None:
    chain = [record_after(None)]
    chain += random_blocks(random.Random(8), chain[0], 20)
    fill(store, chain)
    before = index_of(store)
    store.index_accounts(wanted=False)
    assert not index_of(store)
    after = random_blocks(random.Random(9), chain[-1], 3)
    fill(store, after)
    assert not index_of(store)
    store.unwind(len(chain) - 1)
    store.index_accounts()
    assert index_of(store) == before


def test_a_chain_that_takes_the_place_of_another_is_indexed(store: Store) -> None:
    first = record_after(None)
    fill(store, [first])
    source = Store.temporary()
    fill(source, [first, block_of(first, moved(HOLDER))])
    store.prepare_replace(source)
    store.replace(source)
    assert holders(store) == [HOLDER]
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
    assert store.accounts.last_block_of(target, 3) == 1
    assert store.accounts.last_block_of(changed, 3) == 2
    assert store.accounts.last_block_of(changed, 1) is None
    assert store.accounts.last_block_of(address(9), 3) == 3
    called = [key for key in index_of(store) if key[:1] == tables.CALLED]
    assert not any(key[1:21] == bytes(changed) for key in called)


def test_an_index_that_was_begun_and_not_completed_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = [record_after(None)]
    chain += random_blocks(random.Random(13), chain[0], 20)
    monkeypatch.setattr(account_index, "_ROWS_PER_WRITE", 1)

    def interrupted() -> Iterator[BlockRecord]:
        yield from chain[:15]
        raise KeyboardInterrupt

    store = Store.temporary()
    fill(store, chain)
    with pytest.raises(KeyboardInterrupt):
        store.accounts.switch_on(interrupted())
    assert index_of(store)
    assert not store.accounts.is_on
    store.index_accounts(wanted=False)
    assert not index_of(store)
    store.close()


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
    (found,) = store.accounts.holders(TOKEN, b"", 1, 1)
    assert (found.holder, sizes) == (b"\xff" * 20, [1, 512])
