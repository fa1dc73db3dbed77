from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from entresol._native import keccak256
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.genesis.stored_genesis import (
    ExpectedGenesis,
    differences,
    identity,
    read_genesis,
)
from entresol.chain.ledger import Ledger
from entresol.errors import StoreDamaged
from entresol.primitives.values import Address, Hash32, Nonce8
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.dev_chain import RULES

RICH, CONTRACT, EMPTY, ZEROS = (Address(bytes([n]) * 20) for n in (1, 2, 3, 4))
ONE, TWO = (Hash32(n.to_bytes(32)) for n in (1, 2))

GENESIS = Genesis(
    chain_id=270,
    timestamp=7,
    gas_limit=20_000_000,
    base_fee=9,
    beneficiary=Address(b"\x0f" * 20),
    extra_data=b"extra",
    difficulty=5,
    mix_hash=Hash32(b"\x0e" * 32),
    nonce=Nonce8(b"\x0d" * 8),
    alloc={
        RICH: GenesisAccount(balance=10**24, nonce=3),
        CONTRACT: GenesisAccount(code=b"\xfe", nonce=1, storage={ONE: TWO}),
        EMPTY: GenesisAccount(),
    },
)


def with_account(address: Address, account: GenesisAccount) -> Genesis:
    return msgspec.structs.replace(GENESIS, alloc={**GENESIS.alloc, address: account})


def nothing_matters(stored: Genesis, expected: Genesis) -> Iterator[str]:  # noqa: ARG001
    yield from ()


def test_a_genesis_is_read_back_as_it_was_given(store: Store) -> None:
    Ledger(store, RULES, GENESIS)
    assert read_genesis(store) == GENESIS


def test_a_chain_keeps_its_genesis_where_the_check_allows_it(store: Store) -> None:
    Ledger(store, RULES, GENESIS)
    other = with_account(CONTRACT, GenesisAccount(code=b"\xfc"))
    assert Ledger(store, RULES, ExpectedGenesis(other, nothing_matters)).genesis == GENESIS


def test_a_genesis_that_cannot_be_read_is_damage(store: Store) -> None:
    Ledger(store, RULES, GENESIS)
    record = store.record(0)
    broken: list[dict[str, Any]] = [
        {"header_rlp": b"\xc0"},
        {"codes": ()},
        {"changes": (msgspec.structs.replace(record.changes[0], account=None),)},
    ]
    for change in broken:
        damaged = msgspec.structs.replace(record, **change)
        store._db.write([(tables.record_key(0), damaged.encode())])
        store.read_cache.evict_above(-1)
        with pytest.raises(StoreDamaged, match="its genesis: "):
            read_genesis(store)


def test_a_store_without_a_genesis_is_damaged(store: Store) -> None:
    with pytest.raises(StoreDamaged, match="its genesis: "):
        read_genesis(store)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (msgspec.structs.replace(GENESIS, chain_id=271), "config.chainId: 270, not 271"),
        (msgspec.structs.replace(GENESIS, timestamp=8), "timestamp: 0x7, not 0x8"),
        (msgspec.structs.replace(GENESIS, gas_limit=16), "gasLimit: 0x1312d00, not 0x10"),
        (
            with_account(RICH, GenesisAccount(balance=5, nonce=3)),
            f"alloc.{RICH}.balance: {10**24}, not 5",
        ),
        (
            with_account(CONTRACT, GenesisAccount(code=b"\xfe", nonce=1)),
            f"alloc.{CONTRACT}: another nonce, code or storage",
        ),
        (with_account(ZEROS, GenesisAccount()), f"alloc.{ZEROS}: only given now"),
        (
            msgspec.structs.replace(
                GENESIS, alloc={RICH: GENESIS.alloc[RICH], EMPTY: GENESIS.alloc[EMPTY]}
            ),
            f"alloc.{CONTRACT}: not given now",
        ),
    ],
)
def test_a_difference_is_named_by_the_field_of_the_file(other: Genesis, difference: str) -> None:
    assert list(differences(GENESIS, other)) == [difference]


def test_a_zero_slot_is_no_difference() -> None:
    storage = {ONE: TWO, TWO: Hash32.zero()}
    same = with_account(CONTRACT, GenesisAccount(code=b"\xfe", nonce=1, storage=storage))
    assert list(differences(GENESIS, same)) == []


def test_the_identity_is_the_one_that_stores_of_earlier_versions_have() -> None:
    # Written by the first version; it must never change.
    genesis = Genesis.development(270, [RICH], 1, {CONTRACT: GenesisAccount(code=b"\xfe", nonce=1)})
    assert identity(genesis).hex() == keccak256(DUMPED).hex()


DUMPED = b"""{
  "config": {
    "chainId": 270
  },
  "nonce": "0x0000000000000000",
  "timestamp": "0x0",
  "extraData": "0x",
  "gasLimit": "0x1c9c380",
  "difficulty": "0x0",
  "mixHash": "0x0000000000000000000000000000000000000000000000000000000000000000",
  "coinbase": "0x0000000000000000000000000000000000000000",
  "number": "0x0",
  "baseFeePerGas": "0x3b9aca00",
  "alloc": {
    "0x0101010101010101010101010101010101010101": {
      "balance": "0x1"
    },
    "0x0202020202020202020202020202020202020202": {
      "balance": "0x0",
      "nonce": "0x1",
      "code": "0xfe"
    }
  }
}
"""
