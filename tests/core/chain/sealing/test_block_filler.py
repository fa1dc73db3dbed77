"""What the next block is built on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from tests.support.chain.dev_chain import ALICE, ETHER, transaction

CHANGES: dict[str, Callable[[Chain], object]] = {
    "head": lambda chain: chain.builder.seal(),
    "edits": lambda chain: chain.edit(ALICE, lambda overlay: overlay.set_balance(ALICE, ETHER)),
    "clock": lambda chain: chain.clock.increase(1),
    "settings": lambda chain: chain.configure(BlockSettings(gas_limit=10**7)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_head_edits_clock_and_settings_are_one_build_state(manual: Chain, name: str) -> None:
    before = manual.next_block.build_state
    CHANGES[name](manual)
    assert manual.next_block.build_state != before


def test_a_pending_transaction_leaves_the_build_state(manual: Chain) -> None:
    before = manual.next_block.build_state
    manual.add(transaction(0))
    assert manual.next_block.build_state == before


def test_a_sealed_block_has_the_timestamp_and_the_fees_of_the_next_one(manual: Chain) -> None:
    manual.clock.set_next_timestamp(5_000, 0)
    manual.configure(BlockSettings(base_fee=7))
    expected = (manual.next_block.timestamp(), manual.next_block.base_fee())
    header = manual.builder.seal()
    assert (header.timestamp, header.base_fee_per_gas) == expected == (5_000, 7)
