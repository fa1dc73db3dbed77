"""Bytecodes are found by each of their hashes, from the block that published them."""

from __future__ import annotations

import pytest

from entresol._native import keccak256
from entresol.primitives.bytecode import eravm_hash, evm_hash, pad_evm
from entresol.primitives.transactions import PriorityTransaction, Transaction, ZkTransaction, sign
from entresol.storage.store import Store
from tests.support.chain.block_production import sender
from tests.support.chain.records import SECRET, address, fill, record_after

DEPLOYED = bytes.fromhex("600160005260206000f3")
DEPENDENCY = bytes(range(32)) * 3


def deposit_with(*codes: bytes) -> Transaction:
    return Transaction.from_l1(
        PriorityTransaction(
            sender=address(8),
            to=address(9),
            gas_limit=100_000,
            gas_per_pubdata_limit=800,
            max_fee_per_gas=0,
            nonce=0,
            factory_dep_hashes=tuple(eravm_hash(code) for code in codes),
            factory_deps=codes,
        )
    )


def typed_data_with(*codes: bytes) -> Transaction:
    payload = ZkTransaction(
        nonce=0,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=10**9,
        gas_limit=100_000,
        to=address(1),
        chain_id=270,
        sender=sender(1),
        gas_per_pubdata_limit=50_000,
        factory_deps=codes,
    )
    return sign(payload, SECRET)


@pytest.mark.parametrize("name", [keccak256(DEPLOYED), evm_hash(DEPLOYED)])
def test_deployed_code_is_found_by_its_keccak_and_by_its_versioned_hash(
    store: Store, name: bytes
) -> None:
    fill(store, [record_after(None, codes=[DEPLOYED])])
    found = store.bytecode(name)
    assert found is not None
    assert found.startswith(DEPLOYED)


def test_the_versioned_hash_of_evm_code_gives_the_padded_code_that_it_is_the_hash_of(
    store: Store,
) -> None:
    fill(store, [record_after(None, codes=[DEPLOYED])])
    assert store.bytecode(evm_hash(DEPLOYED)) == pad_evm(DEPLOYED)
    assert store.bytecode(keccak256(DEPLOYED)) == DEPLOYED


@pytest.mark.parametrize("transaction", [deposit_with(DEPENDENCY), typed_data_with(DEPENDENCY)])
def test_a_factory_dependency_is_found_by_the_hash_it_was_published_under(
    store: Store, transaction: Transaction
) -> None:
    genesis = record_after(None)
    fill(store, [genesis, record_after(genesis, transactions=[transaction])])
    assert store.bytecode(eravm_hash(DEPENDENCY)) == DEPENDENCY
    assert store.bytecode(keccak256(DEPENDENCY)) is None


def test_nothing_is_found_before_the_publishing_block_or_after_its_unwind(store: Store) -> None:
    genesis = record_after(None)
    fill(store, [genesis])
    assert store.bytecode(evm_hash(DEPLOYED)) is None
    fill(store, [record_after(genesis, codes=[DEPLOYED])])
    store.unwind(0)
    assert store.bytecode(evm_hash(DEPLOYED)) is None
    assert store.bytecode(keccak256(DEPLOYED)) is None
