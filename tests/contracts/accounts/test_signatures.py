"""Who judges the signature of type 0x71 is a matter of the state in the block, not of what the pool has seen."""

from __future__ import annotations

import pytest

from entresol.errors import AccountRejection, InvalidSignature, ReplayMismatch
from entresol.primitives.transactions import Transaction, load
from entresol.primitives.values import Address
from tests.support.contracts.accounts import ScriptedWorld
from tests.support.contracts.layer_two import ALICE, ETHER


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    """Return an account that keeps the rules of a pool."""
    return l2.account(is_logged=False)


def rejected(l2: ScriptedWorld, transaction: Transaction, code: bytes) -> Exception:
    """Build a block in which the sender of a pending transaction has another code; return why that is dropped."""
    l2.chain.schedule.seal_on_request()
    l2.chain.add(transaction)
    executor = l2.open()
    executor.overlay.set_code(transaction.sender, code)
    best = l2.chain.filler.best_for(executor)
    assert best.take()
    best.execute()
    assert not executor.transactions
    l2.chain.rejections.apply(executor.rejected)
    assert l2.chain.pool.get(transaction.hash) is None
    error = l2.chain.rejections.of(transaction.hash)
    assert error is not None
    return error


def test_an_account_that_has_lost_its_code_has_not_signed(
    l2: ScriptedWorld, account: Address
) -> None:
    error = rejected(l2, l2.from_contract(account), b"")
    assert isinstance(error, InvalidSignature)


def test_an_account_that_became_a_delegation_has_not_signed(
    l2: ScriptedWorld, account: Address
) -> None:
    error = rejected(l2, l2.from_contract(account), b"\xef\x01\x00" + ALICE)
    assert isinstance(error, InvalidSignature)


def test_a_key_whose_address_has_code_no_longer_sends(l2: ScriptedWorld) -> None:
    error = rejected(l2, l2.from_key(), b"\x00")
    assert isinstance(error, AccountRejection)
    assert "Sender is not an account" in str(error)


def test_the_code_of_a_contract_account_judges_when_its_block_is_replayed(
    l2: ScriptedWorld, account: Address
) -> None:
    assert l2.include(l2.from_contract(account, b"whatever")).succeeded


def test_a_replayed_block_without_the_account_is_rejected(
    l2: ScriptedWorld, account: Address
) -> None:
    # As a producer without this check would seal it.
    unjudged = load(l2.from_contract(account, nonce=l2.nonce(account)).raw, account)
    l2.chain.edit(account, lambda state: state.set_code(account, b""))
    block = l2.chain.filler.open(l2.chain.head.timestamp + 1, *l2.chain.edits.stored())
    block.run(unjudged)
    record = block.finish(l2.chain.ledger.trie).record
    with pytest.raises(ReplayMismatch, match="transaction 0 is rejected: invalid signature: "):
        l2.chain.import_block(record, execute=True)


def test_a_rewound_transaction_is_judged_anew(l2: ScriptedWorld) -> None:
    start = l2.chain.number
    address = l2.account(is_logged=False)
    l2.chain.history.rewind(start)
    l2.chain.drop_pending()
    l2.chain.edit(address, lambda state: state.set_balance(address, ETHER))
    l2.chain.builder.seal()
    before = l2.chain.number
    assert l2.account(is_logged=False) == address
    sent = l2.from_contract(address)
    l2.chain.schedule.seal_on_request()
    l2.chain.add(sent)
    l2.chain.builder.seal()
    assert l2.last().succeeded
    l2.chain.history.rewind(before)
    # Without its code the account is one of a key, which has not signed.
    assert l2.chain.pool.get(sent.hash) is None
