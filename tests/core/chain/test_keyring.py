"""The accounts that a node acts for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from entresol._native import recover
from entresol.chain.chain import Chain
from entresol.chain.genesis.accounts import ZK_STACK_ACCOUNTS
from entresol.chain.keyring import MAX_IMPERSONATED, Keyring
from entresol.errors import AccountsLocked, TransactionRuleBroken, UnknownAccount
from entresol.primitives.transactions import FeeMarketTransaction, decode, impersonate
from entresol.primitives.values import Address, Hash32
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import (
    ALICE,
    ETHER,
    FEE,
    LOGGER,
    NOBODY,
    balance,
    fee_market,
    open_chain,
)
from tests.support.chain.dev_chain import transaction as signed

FIRST, SECOND = (account.address for account in ZK_STACK_ACCOUNTS)
DIGEST = Hash32(b"\x12" * 32)


def payload(nonce: int = 0, *, wei: int = 1, gas_limit: int = 50_000) -> FeeMarketTransaction:
    return fee_market(nonce, NOBODY, value=wei, gas=gas_limit, fee=FEE)


@pytest.fixture
def keyring() -> Keyring:
    return Keyring(ZK_STACK_ACCOUNTS)


def test_it_signs_for_its_accounts(keyring: Keyring) -> None:
    assert keyring.addresses == [FIRST, SECOND]
    signature = keyring.sign_digest(SECOND, DIGEST)
    assert signature[64] in {27, 28}
    assert recover(DIGEST, signature[:64] + bytes([signature[64] - 27])) == SECOND
    sent = keyring.transaction(payload(), FIRST)
    assert decode(sent.raw).sender == FIRST


def test_the_first_account_is_the_default_sender(keyring: Keyring) -> None:
    assert keyring.sender(None) == FIRST
    assert keyring.sender(SECOND) == SECOND
    with pytest.raises(UnknownAccount, match="unknown account: the node has none"):
        Keyring().sender(None)


@pytest.mark.parametrize(
    "act",
    [
        lambda keyring: keyring.sender(ALICE),
        lambda keyring: keyring.sign_digest(ALICE, DIGEST),
        lambda keyring: keyring.sign(payload(), ALICE),
        lambda keyring: keyring.transaction(payload(), ALICE),
    ],
)
def test_other_accounts_are_unknown(keyring: Keyring, act: Callable[[Keyring], object]) -> None:
    with pytest.raises(UnknownAccount, match=f"unknown account: {ALICE} is neither"):
        act(keyring)


def test_an_impersonated_account_sends_but_cannot_sign(keyring: Keyring) -> None:
    for account in (ALICE, FIRST):
        keyring.impersonate(account)
    assert keyring.addresses == [FIRST, SECOND, ALICE]
    assert keyring.transaction(payload(), keyring.sender(ALICE)).sender == ALICE
    with pytest.raises(UnknownAccount):
        keyring.sign(payload(), ALICE)
    keyring.stop_impersonating(ALICE)
    keyring.stop_impersonating(ALICE)
    assert keyring.addresses == [FIRST, SECOND]
    with pytest.raises(UnknownAccount):
        keyring.sender(ALICE)


def test_everybody_may_be_impersonated(keyring: Keyring) -> None:
    keyring.impersonate_all(enabled=True)
    assert keyring.transaction(payload(), keyring.sender(NOBODY)).is_impersonated
    keyring.impersonate_all(enabled=False)
    with pytest.raises(UnknownAccount):
        keyring.sender(NOBODY)


@pytest.mark.parametrize(
    "act",
    [
        lambda keyring: keyring.sender(FIRST),
        lambda keyring: keyring.sign_digest(FIRST, DIGEST),
        lambda keyring: keyring.sign(payload(), FIRST),
        lambda keyring: keyring.impersonate(FIRST),
        lambda keyring: keyring.impersonate_all(enabled=True),
    ],
)
def test_a_locked_keyring_rejects_everything_with_its_reason(
    act: Callable[[Keyring], object],
) -> None:
    keyring = Keyring(ZK_STACK_ACCOUNTS, locked="strangers listen")
    assert keyring.addresses == []
    with pytest.raises(AccountsLocked, match="strangers listen"):
        act(keyring)


# Impersonated transactions on a chain


def test_a_contract_sends_what_it_did_not_sign(tmp_path: Path) -> None:
    with_directory = open_chain(tmp_path / "chain")
    with_directory.edit(LOGGER, lambda state: state.set_balance(LOGGER, ETHER))
    sent = InlineSequencer(with_directory).send(impersonate(payload(1, wei=5), LOGGER))
    assert balance(with_directory, NOBODY) == 5
    with_directory.close()

    again = open_chain(tmp_path / "chain")
    assert again.blocks.locate_transaction(sent) == (1, 0)
    stored = again.blocks.record(1).transaction(0)
    assert (stored.sender, stored.hash, stored.is_impersonated) == (LOGGER, sent, True)
    again.verify()
    again.close()


def test_a_contract_still_cannot_send_what_a_key_signed(manual: Chain) -> None:
    manual.edit(ALICE, lambda state: state.set_code(ALICE, b"\x00"))
    with pytest.raises(TransactionRuleBroken, match="sender not an eoa"):
        manual.add(signed(0))
    manual.add(impersonate(payload(), ALICE))
    manual.builder.seal()
    assert balance(manual, NOBODY) == 1


def test_code_under_a_sender_bars_what_its_key_signed_and_nothing_else(manual: Chain) -> None:
    unsigned = impersonate(payload(), ALICE)
    manual.add(unsigned)
    manual.add(signed(1))
    manual.edit(ALICE, lambda state: state.set_code(ALICE, b"\x00"))
    assert list(manual.pool) == [unsigned]


def test_the_first_of_too_many_impersonated_accounts_are_dropped() -> None:
    keyring = Keyring()
    accounts = [Address(number.to_bytes(20)) for number in range(MAX_IMPERSONATED + 1)]
    for account in accounts:
        keyring.impersonate(account)
    assert keyring.addresses == accounts[1:]
