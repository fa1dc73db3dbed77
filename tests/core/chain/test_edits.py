"""What a developer changes by hand."""

from __future__ import annotations

import resource
from functools import partial

import pytest

from entresol._native import Overlay, keccak256
from entresol.chain.chain import Chain
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import ALICE, ETHER, NOBODY, balance, transaction
from tests.support.chain.steering import revert


@pytest.fixture
def chain(manual: Chain) -> Chain:
    return manual


def give(chain: Chain, address: Address, wei: int) -> None:
    chain.edit(address, lambda state: state.set_balance(address, wei))


def test_a_block_records_no_code_for_code_that_an_edit_removes(chain: Chain) -> None:
    chain.edit(NOBODY, lambda state: state.set_code(NOBODY, b"\x00"))
    chain.builder.seal()
    chain.edit(NOBODY, lambda state: state.set_code(NOBODY, b""))
    chain.builder.seal()
    assert chain.ledger.record(2).codes == ()
    account = chain.latest.account(NOBODY)
    assert account is None or account.code_hash == keccak256(b"")


def test_the_next_block_records_an_edit(chain: Chain) -> None:
    give(chain, NOBODY, 77)
    header = chain.builder.seal()
    assert balance(chain, NOBODY, 1) == 77
    assert balance(chain, NOBODY, 0) == 0
    assert len(chain.blocks.record(1).edits) == 1
    assert chain.state_trie.prove(header.state_root, NOBODY).balance == 77


def test_the_pool_hears_of_an_edit(chain: Chain) -> None:
    sent = InlineSequencer(chain).submit(transaction(0, wei=50 * ETHER).raw)
    give(chain, ALICE, 1)
    assert chain.pool.get(sent) is None


def test_an_edit_that_fails_changes_nothing(chain: Chain) -> None:
    give(chain, NOBODY, 77)
    with pytest.raises(ValueError, match="a word is from 0"):
        give(chain, NOBODY, -1)
    assert balance(chain, NOBODY) == 77


def test_a_snapshot_of_many_edits_does_not_copy_them(chain: Chain) -> None:
    many = [Address(number.to_bytes(20)) for number in range(10_000, 15_000)]

    def fund(overlay: Overlay) -> None:
        for it in many:
            overlay.set_balance(it, 1)

    chain.edit(many[0], fund, *many[1:])
    marks = [chain.history.mark()]
    before = peak_bytes()
    for wei in range(2, 402):
        chain.edit(many[0], partial(_set_balance, many[0], wei))
        marks.append(chain.history.mark())
    # A copy of each would take 500 MB.
    assert peak_bytes() - before < 100 * 2**20
    assert balance(chain, many[0]) == 401
    assert balance(chain, many[1]) == 1
    revert(chain, marks[0])
    assert balance(chain, many[0]) == 1
    chain.builder.seal()
    assert balance(chain, many[-1]) == 1


def _set_balance(address: Address, wei: int, overlay: Overlay) -> None:
    overlay.set_balance(address, wei)


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
