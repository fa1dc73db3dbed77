"""The prices of blocks: written when they change, read for any block, and unwound with theirs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entresol.errors import MalformedValue
from entresol.primitives.base_token import EtherPrice
from entresol.storage import tables
from entresol.storage.block_rows import Prices
from entresol.storage.store import Store
from tests.support.chain.records import dump, record_after

CHEAP, DEAR = Prices(10**9, 10**10), Prices(2**200, 10**15)
TOKEN = Prices(10**9, 10**10, EtherPrice(3_000, 7))


def fill(store: Store, *prices: Prices | None) -> None:
    for made_with in prices:
        head = None if store.head_number is None else store.get_record(store.head_number)
        store.append(record_after(head), [], made_with)


def rows(store: Store) -> list[int]:
    return [tables.block_of(key) for key in dump(store) if key[:1] == tables.PRICES]


def test_prices_that_stay_take_no_room(store: Store) -> None:
    fill(store, CHEAP, CHEAP, CHEAP, DEAR, DEAR)
    assert rows(store) == [0, 3]
    assert [store.prices.at(block) for block in range(5)] == [CHEAP] * 3 + [DEAR] * 2


def test_another_price_of_ether_is_another_row(store: Store) -> None:
    fill(store, CHEAP, TOKEN, TOKEN, CHEAP)
    assert rows(store) == [0, 1, 3]
    assert [store.prices.at(block) for block in range(4)] == [CHEAP, TOKEN, TOKEN, CHEAP]


def test_a_row_without_a_price_of_ether_is_paid_in_it() -> None:
    row = (10**9).to_bytes(32) + (10**10).to_bytes(32)
    assert Prices.unpack(row) == CHEAP
    assert CHEAP.pack() == row


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**128 - 1))
def test_every_price_of_ether_is_read_as_it_was_written(nominator: int, denominator: int) -> None:
    prices = Prices(1, 2, EtherPrice(nominator, denominator))
    assert Prices.unpack(prices.pack()) == prices


@pytest.mark.parametrize("size", [0, 1, 63, 65, 95, 97])
def test_a_row_of_another_size_is_malformed(size: int) -> None:
    with pytest.raises(MalformedValue, match="prices take 64 or 96 bytes"):
        Prices.unpack(bytes(size))


def test_ether_that_costs_nothing_is_malformed() -> None:
    with pytest.raises(MalformedValue, match="the nominator is from 1"):
        Prices.unpack(bytes(96))


def test_what_is_remembered_of_the_last_block_survives_no_unwinding(store: Store) -> None:
    fill(store, CHEAP, CHEAP, DEAR)
    store.unwind(0)
    fill(store, CHEAP, CHEAP, DEAR)
    assert [store.prices.at(block) for block in range(4)] == [CHEAP, CHEAP, CHEAP, DEAR]
    store.unwind(2)
    fill(store, DEAR)
    assert store.prices.at(3) == DEAR


def test_a_price_that_no_word_can_hold_is_the_highest(store: Store) -> None:
    fill(store, Prices(2**300, 1))
    assert store.prices.at(0) == Prices(2**256 - 1, 1)
    fill(store, Prices(2**300, 1))
    assert rows(store) == [0]
