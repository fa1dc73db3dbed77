"""What is in the next block, pending or sealed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from entresol.chain.chain import Chain
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import NOBODY, deposit, transaction


def test_priority_transactions_come_before_all_others(manual: Chain) -> None:
    InlineSequencer(manual).submit(transaction(0, tip=10).raw)
    first = manual.enqueue(deposit(0))
    second = manual.enqueue(deposit(1))
    manual.builder.seal()
    locations = [manual.blocks.locate_transaction(sent) for sent in (first, second)]
    assert locations == [(1, 0), (1, 1)]
    assert not manual.filler.priority


@pytest.mark.parametrize("gas_limit", [30_000_001, 72_000_000])
def test_the_gas_limit_of_a_block_covers_a_priority_transaction(
    manual: Chain, gas_limit: int
) -> None:
    # It mints less than it pays, so it cannot start, and uses all of its gas.
    manual.enqueue(replace(deposit(0, gas_limit=gas_limit), to_mint=0))
    manual.enqueue(deposit(1))
    header = manual.builder.seal()
    assert header.gas_used == header.gas_limit == gas_limit
    assert manual.builder.seal().gas_limit == manual.rules.gas_limit
    manual.verify()


@pytest.mark.parametrize("gas_limit", [90_000_000, 2**63 - 1, 2**64, 2**256 - 1])
def test_a_priority_transaction_with_more_gas_than_any_l1_accepts_fails_within_a_bound(
    manual: Chain, gas_limit: int
) -> None:
    # It loops until its gas is used up, and L1 says that all of it is paid for.
    manual.edit(NOBODY, lambda overlay: overlay.set_code(NOBODY, bytes.fromhex("5b5f56")))
    endless = replace(deposit(0), to=NOBODY, gas_limit=gas_limit, max_fee_per_gas=0)
    sent = manual.enqueue(endless)
    manual.enqueue(deposit(1))
    header = manual.builder.seal()
    assert header.gas_used == header.gas_limit < 81_000_000
    (failed,) = manual.blocks.record(1).results
    assert not failed.succeeded
    status = L2ToL1Log.of_status(0, sent, succeeded=False)
    assert L2ToL1Log.unpack(failed.l2_to_l1_logs[0]) == status
    assert manual.builder.seal().gas_limit == manual.rules.gas_limit
    assert not manual.filler.priority
    manual.verify()
