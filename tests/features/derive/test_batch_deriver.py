"""Chains that are derived from what was published of them are the same, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from entresol.chain.chain import Chain
from entresol.errors import DerivationAlarm
from entresol.features.derive.opening import open_derived
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.records import transaction_type
from entresol.primitives.transactions import load
from entresol.primitives.transactions.zk import ZkTransaction
from entresol.primitives.values import Address
from tests.support.chain.dev_chain import deposit
from tests.support.coroutines import completed
from tests.support.features.derive.operated_chain import (
    DerivedChain,
    OperatedChain,
    assert_same,
    assert_same_blocks,
)
from tests.support.rollup.published_traffic import Traffic
from tests.support.run.examples import tries_many

SEEDS = 20 if tries_many() else 1
SIGNED = {(0, "key"), (1, "key"), (2, "key"), (4, "key"), (0x71, "key"), (0x71, "contract account")}
FROM_L1 = {(0xFF, "success"), (0xFF, "failure"), (0x7D, "success")}
DEVELOPED = {(2, "impersonated"), (0x71, "impersonated"), (0x71, "paymaster"), ("block", "edits")}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, SIGNED | FROM_L1 | DEVELOPED),
        ({"is_development": False}, SIGNED | FROM_L1),
        ({"ether_price": EtherPrice(3_001, 7)}, SIGNED | FROM_L1 | DEVELOPED),
    ],
    ids=["development", "production", "another base token"],
)
def test_a_chain_with_everything_is_derived_byte_for_byte(
    settings: dict[str, Any], kinds: set[tuple[object, str]], seed: int
) -> None:
    operator = OperatedChain(**settings)
    traffic = Traffic(operator, seed)
    traffic.begin()
    for number in range(40):
        traffic.block()
        if "ether_price" in settings and number % 7 == 0:
            operator.fees.set_ether_price(EtherPrice(2_000 + number, 3))
        if number % 5 == 4:
            operator.seal_batch()
    derived = DerivedChain(operator)
    derived.derive(*operator.claims())
    assert_same(derived.chain, operator.chain)
    assert kinds <= _kinds(operator.chain)
    derived.chain.verify()
    derived.close()
    operator.close()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_chain_whose_blocks_were_reverted_now_and_then_is_derived(seed: int) -> None:
    operator = OperatedChain()
    traffic = Traffic(operator, seed)
    traffic.begin()
    for number in range(30):
        traffic.block()
        if number % 3 == 2:
            traffic.rewind()
        if number % 5 == 4:
            operator.seal_batch()
    derived = DerivedChain(operator)
    derived.derive(*operator.claims())
    assert_same_blocks(derived.chain, operator.chain)
    derived.chain.verify()
    derived.close()
    operator.close()


def test_a_derived_chain_goes_on_after_it_was_closed(tmp_path: Path) -> None:
    operator = OperatedChain()
    traffic = Traffic(operator)
    claims = []
    for _ in range(4):
        traffic.block()
        claims.append(operator.seal_batch())
    for claim in claims:
        derived = DerivedChain(operator, tmp_path / "derived")
        derived.derive(claim)
        derived.close()
    chain = open_derived(tmp_path / "derived", operator.genesis())
    assert_same(chain, operator.chain)
    chain.close()
    operator.close()


def test_blocks_of_a_batch_that_was_not_stored_are_unwound_and_derived_again() -> None:
    operator = OperatedChain()
    traffic = Traffic(operator)
    traffic.block()
    first = operator.seal_batch()
    traffic.block()
    second = operator.seal_batch()
    derived = DerivedChain(operator)
    derived.derive(first)
    # A crash before the batch is stored leaves its blocks.
    derived.deriver.derive(second, operator.deposits_from)
    derived.deriver.unwind(first.last_block)
    assert derived.chain.number == first.last_block
    derived.derive(second)
    assert_same(derived.chain, operator.chain)
    derived.close()
    operator.close()


def test_batches_that_were_reverted_and_committed_anew_replace_those_before() -> None:
    first, second = OperatedChain(), OperatedChain()
    for operator, seed in ((first, 1), (second, 2)):
        traffic = Traffic(operator, seed)
        for _ in range(3):
            operator.deposit(deposit(0, wei=seed))
            traffic.block()
            operator.seal_batch()
    derived = DerivedChain(first)
    derived.derive(*first.claims())
    derived.deriver.unwind(0)
    assert derived.chain.batches.last() == first.chain.batches.get(0)
    for claim in second.claims():
        sealed = derived.deriver.derive(claim, second.deposits_from)
        derived.chain.batches.append(*sealed)
    assert_same_blocks(derived.chain, second.chain)
    derived.chain.verify()
    for chain in (derived, first, second):
        chain.close()


def test_a_batch_that_is_not_the_next_is_an_alarm() -> None:
    operator = OperatedChain()
    operator.seal()
    first = operator.seal_batch()
    operator.seal()
    second = operator.seal_batch()
    derived = DerivedChain(operator)
    with pytest.raises(DerivationAlarm, match="batch 2, number: 2 on L1, 1 here"):
        derived.derive(second)
    derived.derive(first)
    with pytest.raises(DerivationAlarm, match="batch 1, number: 1 on L1, 2 here"):
        derived.derive(first)
    derived.close()
    operator.close()


def _kinds(chain: Chain) -> set[tuple[object, str]]:
    """Return which types of transactions a chain has, and how they were sent or ended."""
    found: set[tuple[object, str]] = set()
    for number in range(1, chain.number + 1):
        record = chain.ledger.record(number)
        if record.edits:
            found.add(("block", "edits"))
        for (raw, sender), result in zip(record.transactions, record.results, strict=True):
            kind, transaction = transaction_type(raw), load(raw, Address(sender))
            found.add((kind, "success" if result.succeeded else "failure"))
            payload = transaction.payload
            if transaction.is_impersonated:
                found.add((kind, "impersonated"))
            elif isinstance(payload, ZkTransaction) and payload.custom_signature:
                found.add((kind, "contract account"))
            else:
                found.add((kind, "key"))
            if isinstance(payload, ZkTransaction) and payload.paymaster is not None:
                found.add((kind, "paymaster"))
    return found


def test_identical_blocks_after_a_revert_are_derived_with_the_prices_that_they_have_now() -> None:
    operator = OperatedChain()
    operator.fees.observe(1_700_000_000)
    operator.seal()
    completed(operator.batcher.step(0.0))
    before, first = operator.chain.head.hash(), operator.chain.prices.at(1)
    operator.chain.history.rewind(0)
    operator.now -= 1
    # The base fee is the least one at either price, so that no hash has it.
    operator.fees.observe(1_800_000_000)
    operator.seal()
    assert operator.chain.head.hash() == before
    assert operator.chain.prices.at(1) != first
    claim = operator.seal_batch()
    derived = DerivedChain(operator)
    derived.derive(claim)
    assert_same(derived.chain, operator.chain)
    derived.close()
    operator.close()
