"""Transactions of the pool in a block: in parts, with what does not fit or is invalid left out."""

from __future__ import annotations

import pytest

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.chain.sealing import pool_inclusion as module
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import BOB, transaction

EACH_PART = pytest.mark.parametrize("part", [1, 2, 3, 128])


def included(chain: Chain, number: int) -> list[tuple[bytes, int]]:
    found = chain.blocks.record(number).decoded()
    return [(it.sender, it.payload.nonce) for it in found]


@EACH_PART
def test_what_does_not_fit_is_in_the_next_block(
    manual: Chain, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(module, "PART_TRANSACTIONS", part)
    # Each may use 100,000 and uses 21,000, so the fourth does not fit any more.
    manual.configure(BlockSettings(gas_limit=150_000))
    sent = [transaction(nonce, by=by) for nonce in range(2) for by in range(3)]
    for it in sent:
        InlineSequencer(manual).submit(it.raw)
    manual.builder.seal()
    manual.builder.seal()
    expected = [(it.sender, it.payload.nonce) for it in sent]
    assert included(manual, 1) == expected[:3]
    assert included(manual, 2) == expected[3:]
    manual.verify()


@EACH_PART
def test_an_invalid_transaction_is_dropped_with_those_behind_it_left_out(
    manual: Chain, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    monkeypatch.setattr(module, "PART_TRANSACTIONS", part)
    sent = [transaction(nonce, by=by) for nonce in range(2) for by in range(3)]
    for it in sent:
        InlineSequencer(manual).submit(it.raw)
    # An edit that the pool does not see.
    manual.edits.apply(manual.ledger.latest, lambda overlay: overlay.set_balance(BOB, 0))
    manual.builder.seal()
    expected = [(it.sender, it.payload.nonce) for it in sent]
    assert included(manual, 1) == [it for it in expected if it[0] != BOB]
    assert manual.pool.get(sent[1].hash) is None


def test_a_limit_counts_what_is_included(manual: Chain) -> None:
    for by in range(3):
        InlineSequencer(manual).submit(transaction(0, by=by).raw)
    manual.builder.seal(limit=2)
    assert len(included(manual, 1)) == 2
    manual.builder.seal(limit=0)
    assert included(manual, 2) == []
